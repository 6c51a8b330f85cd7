"""What the gallery shows: the families, and for each transform its call, one line, and what it is called on."""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """`kind` names an input of gallery.py; `times` is how often it is shown, 0 for three times when it is random."""

    call: str
    text: str
    kind: str = "image"
    times: int = 0


FAMILIES: list[tuple[str, str, list[Entry]]] = [
    (
        "Decode",
        "From the bytes of a file (each one a grey dot here) to pixels.",
        [
            Entry("vision.Decode()", "The pixels of a JPEG, PNG, BMP or TIFF file.", "encoded"),
            Entry(
                "vision.RandomCropDecodeResize((90, 90))",
                "Decode and RandomResizedCrop in one: only the part that is kept is decoded.",
                "encoded",
            ),
            Entry("vision.DecodeVideo()", "Frames and sound of a video file.", "video"),
        ],
    ),
    (
        "Size and crop",
        "Which part of an image, and how large.",
        [
            Entry("vision.Resize((60, 160))", "Another height and width."),
            Entry("vision.Resize(60, vision.Inter.NEAREST)", "One number is the shorter side."),
            Entry(
                "vision.RandomResize((90, 120))",
                "Resize with an interpolation drawn for each image.",
                times=1,
            ),
            Entry("vision.CenterCrop((90, 90))", "The middle."),
            Entry("vision.Crop((40, 90), (70, 70))", "The part that begins at (y, x)."),
            Entry("vision.RandomCrop(80, padding=10)", "A part somewhere, after padding."),
            Entry("vision.RandomResizedCrop((90, 90))", "A part of random area and ratio, in one size."),
            Entry("vision.ResizedCrop(40, 5, 60, 60, (90, 90))", "A given part in a given size."),
            Entry("vision.FiveCrop(60)", "The corners and the middle of a Pillow image.", "pil"),
            Entry("vision.TenCrop(60)", "FiveCrop of the image and of its mirror image.", "pil"),
            Entry("vision.SlicePatches(2, 2)", "Equal parts, row by row."),
            Entry("vision.Pad(12, (255, 234, 0))", "A border around the image."),
            Entry(
                "vision.PadToSize((140, 180), None, 0, vision.Border.REFLECT)", "A border up to a given size."
            ),
        ],
    ),
    (
        "Flip, turn, bend",
        "Where each pixel goes.",
        [
            Entry("vision.HorizontalFlip()", "Left becomes right."),
            Entry("vision.VerticalFlip()", "Top becomes bottom."),
            Entry("vision.RandomHorizontalFlip(0.5)", "Left becomes right, for half of the images."),
            Entry("vision.RandomVerticalFlip(0.5)", "Top becomes bottom, for half of the images."),
            Entry("vision.Rotate(25, expand=True)", "Turned by 25 degrees, the corners kept."),
            Entry("vision.RandomRotation(30)", "Turned by up to 30 degrees either way."),
            Entry("vision.Affine(15, (0.1, 0.0), 0.9, (10.0, 0.0))", "Turned, moved, scaled and slanted."),
            Entry(
                "vision.RandomAffine(20, (0.1, 0.1), (0.8, 1.2), (-10, 10, 0, 0))",
                "The same, drawn at random.",
            ),
            Entry(
                "vision.Perspective([[0, 0], [159, 0], [159, 119], [0, 119]], "
                "[[20, 10], [150, 0], [140, 119], [5, 100]], vision.Inter.BILINEAR)",
                "The four corners moved to new places.",
            ),
            Entry(
                "vision.RandomPerspective(0.4, 1.0)", "The corners moved at random, of a Pillow image.", "pil"
            ),
        ],
    ),
    (
        "Colour",
        "What each pixel becomes.",
        [
            Entry("vision.AdjustBrightness(1.5)", "More light."),
            Entry("vision.AdjustContrast(0.5)", "Nearer to the mean grey."),
            Entry("vision.AdjustGamma(2.2)", "Dark parts darker."),
            Entry("vision.AdjustHue(0.25)", "A quarter around the wheel of colours."),
            Entry("vision.AdjustSaturation(2.0)", "Stronger colours."),
            Entry("vision.AdjustSharpness(3.0)", "Stronger edges."),
            Entry("vision.AutoContrast(cutoff=5.0)", "Each channel from 0 to 255."),
            Entry("vision.Equalize()", "All values equally frequent."),
            Entry("vision.GaussianBlur(9, 3.0)", "Each pixel the mean of its neighbours."),
            Entry("vision.Grayscale(3)", "Without colour, of a Pillow image.", "pil"),
            Entry("vision.Invert()", "The negative."),
            Entry("vision.Posterize(2)", "Two bits for each channel."),
            Entry("vision.Solarize((128, 255))", "The negative of values within a range."),
            Entry("vision.ConvertColor(vision.ConvertMode.COLOR_RGB2BGR)", "Channels in another order."),
            Entry("vision.RandomAdjustSharpness(4.0, 0.5)", "Sharper, for half of the images."),
            Entry("vision.RandomAutoContrast(5.0, prob=0.5)", "AutoContrast, for half of the images."),
            Entry("vision.RandomColor((0.1, 1.9))", "Weaker or stronger colours."),
            Entry(
                "vision.RandomColorAdjust(0.4, 0.4, 0.4, 0.1)", "Brightness, contrast, saturation and hue."
            ),
            Entry("vision.RandomEqualize(0.5)", "Equalize, for half of the images."),
            Entry("vision.RandomGrayscale(0.5)", "Grey, for half of the Pillow images.", "pil"),
            Entry("vision.RandomInvert(0.5)", "The negative, for half of the images."),
            Entry("vision.RandomLighting(0.5)", "Light of a random colour, as in AlexNet."),
            Entry("vision.RandomPosterize((1, 4))", "One to four bits for each channel."),
            Entry("vision.RandomSharpness((0.1, 4.0))", "Softer or sharper."),
            Entry("vision.RandomSolarize((40, 220))", "Solarize within a range drawn at random."),
            Entry(
                "vision.RgbToHsv(is_hwc=True)",
                "Hue, saturation and value, shown as if they were RGB.",
                "floats",
            ),
            Entry("vision.HsvToRgb(is_hwc=True)", "And back.", "hsv"),
        ],
    ),
    (
        "Erase and mix",
        "Parts are painted over; images of a batch are mixed with each other.",
        [
            Entry("vision.CutOut(30, 3)", "Black squares at random places."),
            Entry("vision.Erase(45, 10, 45, 45, (255, 234, 0))", "A given part in one colour."),
            Entry(
                "vision.RandomErasing(1.0, value=(1, 0, 0))",
                "A random part of a tensor <C,H,W> in one colour.",
                "tensor",
            ),
            Entry(
                "vision.CutMixBatch(vision.ImageBatchFormat.NHWC, 5.0)",
                "A box of another image in each one.",
                "batch",
                1,
            ),
            Entry("vision.MixUpBatch(5.0)", "Each image mixed with another one of its batch.", "batch", 1),
            Entry("vision.MixUp(4, 2.0)", "Each image mixed with the next one.", "batch_chw", 1),
        ],
    ),
    (
        "Policies",
        "Several transforms, drawn for each image.",
        [
            Entry(
                "vision.AutoAugment(vision.AutoAugmentPolicy.IMAGENET)",
                "One of the 25 policies found for ImageNet.",
            ),
            Entry("vision.RandAugment(2, 12)", "Two transforms of one strength."),
            Entry("vision.TrivialAugmentWide()", "One transform of any strength."),
            Entry(
                "vision.UniformAugment([vision.Invert(), vision.HorizontalFlip(), vision.Posterize(2)], 2)",
                "Two of your own, each used by a throw of a coin.",
            ),
            Entry(
                "vision.RandomSelectSubpolicy([[(vision.Invert(), 1.0)], [(vision.Rotate(20), 1.0)], "
                "[(vision.Solarize((100, 255)), 1.0)]])",
                "One of your own policies.",
            ),
        ],
    ),
    (
        "Boxes",
        "An image together with its bounding boxes, (x, y, width, height).",
        [
            Entry("vision.RandomHorizontalFlipWithBBox(1.0)", "Left becomes right.", "boxes", 1),
            Entry("vision.RandomVerticalFlipWithBBox(1.0)", "Top becomes bottom.", "boxes", 1),
            Entry("vision.ResizeWithBBox((80, 80))", "Another size.", "boxes"),
            Entry("vision.RandomResizeWithBBox((80, 160))", "With a random interpolation.", "boxes", 1),
            Entry("vision.RandomCropWithBBox((100, 120))", "A part somewhere.", "boxes"),
            Entry(
                "vision.RandomResizedCropWithBBox((100, 100), (0.5, 1.0))",
                "A random part in one size.",
                "boxes",
            ),
            Entry(
                "vision.BoundingBoxAugment(vision.Invert(), 1.0)", "A transform inside the boxes.", "boxes", 1
            ),
        ],
    ),
    (
        "Type and layout",
        "The same picture in another form. Floats beyond 0 to 1 are shown from their least to their largest value.",
        [
            Entry("vision.HWC2CHW()", "Channels first: three planes."),
            Entry(
                "vision.Normalize([120.0, 110.0, 100.0], [60.0, 60.0, 60.0])", "(x - mean) / std, as float32."
            ),
            Entry(
                "vision.NormalizePad([120.0, 110.0, 100.0], [60.0, 60.0, 60.0])",
                "The same, with a fourth channel of zeros (not shown).",
            ),
            Entry("vision.Rescale(1 / 255, 0.0)", "x * rescale + shift, as float32."),
            Entry("vision.ToTensor()", "Channels first, float32 from 0 to 1: three planes."),
            Entry("vision.ToType(np.float32)", "Another type, the values kept."),
            Entry("vision.ToPIL()", "An array as a Pillow image."),
            Entry("vision.ToNumpy()", "A Pillow image as an array.", "pil"),
            Entry(
                "vision.LinearTransformation(np.eye(576)[::-1], np.zeros(576))",
                "A matrix times all pixels of a tensor; here it turns their order around.",
                "small",
            ),
        ],
    ),
]
