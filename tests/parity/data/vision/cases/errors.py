# ruff: noqa: E501
"""Arguments that are refused: the class and the words of the error are MindSpore's."""

from __future__ import annotations

from tests.parity.calls import each

_SIZE = "0; -1; 1.5; '5'; (1,); (1, 2, 3); (0, 5); (1.5, 2); None; True; [5, 16777217]; 16777217; []"


def bad(template: str, values: str) -> str:
    return "\n".join(template.replace("{}", value) for value in values.split("; "))


_LINES = [
    bad("V.Resize({})", _SIZE),
    bad("V.Resize(5, {})", "None; 1; 'linear'"),
    bad("V.CenterCrop({})", _SIZE),
    bad("V.FiveCrop({})", "0; '5'; (1, 2, 3)"),
    bad("V.TenCrop({})", "0; '5'; (1, 2, 3); 5, 1; 5, None"),
    bad("V.Crop({}, 5)", "5; (1,); (-1, 0); (0, 1.5); (0, '1'); None; (0, 2147483648)"),
    bad("V.Crop((0, 0), {})", _SIZE),
    bad("V.RandomCrop({})", _SIZE),
    bad("V.RandomCrop(5, {})", "-1; 1.5; 'x'; (1,); (1, 2, 3); (1, -2); (1, 2.5); True; [1, 2, 3, '4']"),
    bad("V.RandomCrop(5, None, {})", "1; None; 'x'"),
    bad("V.RandomCrop(5, None, False, {})", "-1; 256; 1.5; (1, 2); (1, 2, 256); [1, 2, 3]; (1, 2, 3.5)"),
    bad("V.RandomCrop(5, None, False, 0, {})", "0; 'edge'"),
    bad("V.RandomResizedCrop({})", _SIZE),
    bad(
        "V.RandomResizedCrop(5, {})", "0.5; (1,); (2, 1); (-1, 1); ('a', 1); (0, 0); (1, 2, 3); (0, 16777217)"
    ),
    bad("V.RandomResizedCrop(5, (0.1, 1), {})", "0.5; (1,); (2, 1); (-1, 1); ('a', 1); (0, 1); (1, 2, 3)"),
    bad("V.RandomResizedCrop(5, (0.1, 1), (1, 1), {})", "1; 'x'"),
    bad("V.RandomResizedCrop(5, (0.1, 1), (1, 1), Inter.LINEAR, {})", "0; -1; 1.5; 'x'"),
    bad("V.RandomCropDecodeResize({})", "0; 'x'; (1, 2, 3); 5, (2, 1); 5, (0, 1), (2, 1)"),
    bad("V.ResizedCrop({}, 0, 5, 6, 5)", "-1; 1.5; None; 2147483648"),
    bad("V.ResizedCrop(0, {}, 5, 6, 5)", "-1; 'x'"),
    bad("V.ResizedCrop(0, 0, {}, 6, 5)", "0; -1; 1.5"),
    bad("V.ResizedCrop(0, 0, 5, {}, 5)", "0; 1.5"),
    bad("V.ResizedCrop(0, 0, 5, 6, {})", "0; 'x'; (1, 2, 3)"),
    bad("V.ResizedCrop(0, 0, 5, 6, 5, {})", "1; None"),
    *[
        bad(f"V.{n}({{}})", "-0.1; 1.1; 'x'; None; True; (0.5,)")
        for n in (
            "RandomHorizontalFlip",
            "RandomVerticalFlip",
            "RandomGrayscale",
            "RandomInvert",
            "RandomEqualize",
            "RandomHorizontalFlipWithBBox",
            "RandomVerticalFlipWithBBox",
        )
    ],
    bad(
        "V.Normalize({})",
        "1, 2; [1], [1, 2]; [256], [1]; [1], [0]; [1], [256]; ['a'], [1]; [1], ['a']; [-1], [1]; [True], [1]; (1, 2), (1, 2), 1",
    ),
    bad("V.NormalizePad([1], [1], {})", "1; 'int8'; None; 'float16', 1"),
    bad("V.Rescale({})", "'a', 1; 1, 'a'; None, 1; 16777217, 0; 0, -16777217; True, 1"),
    bad("V.ToTensor({})", "None; 'nothing'; 5"),
    bad("V.ToType({})", "None; 'nothing'; 5"),
    bad(
        "V.Pad({})",
        "-1; 1.5; 'x'; None; (1,); (1, 2, 3); (1, -1); (1, 'a'); True; 1, 256; 1, 1.5; 1, (1, 2); 1, None; 1, 0, 1; 1, 0, None",
    ),
    bad(
        "V.PadToSize({})",
        "0; -1; 1.5; 'x'; (1,); (1, 0); 5, -1; 5, 1.5; 5, (1,); 5, (1, -1); 5, 'x'; 5, None, 256; 5, None, 0, 1; 5, None, None",
    ),
    bad("V.Grayscale({})", "2; 0; 'x'; None; 1.0; True"),
    bad("V.ConvertColor({})", "1; 'x'; None"),
    bad(
        "V.Rotate({})",
        "'x'; None; True; 16777217; 1, 1; 1, Inter.LINEAR, 1; 1, Inter.LINEAR, False, 5; 1, Inter.LINEAR, False, (1, 2, 3); 1, Inter.LINEAR, False, (1, 'a'); 1, Inter.LINEAR, False, [1, 2]; 1, Inter.LINEAR, False, None, 256; 1, Inter.LINEAR, False, None, (1, 2)",
    ),
    bad(
        "V.RandomRotation({})",
        "-1; 'x'; None; (1,); (2, 1); ('a', 1); (1, 2, 3); True; 1, 1; 1, Inter.LINEAR, 1; 1, Inter.LINEAR, False, 5; 1, Inter.LINEAR, False, None, 256",
    ),
    bad("V.AdjustBrightness({})", "-1; 'x'; None; True; 16777217"),
    bad("V.AdjustContrast({})", "-1; 'x'; None"),
    bad("V.AdjustSaturation({})", "-1; 'x'; None"),
    bad("V.AdjustSharpness({})", "-1; 'x'; None"),
    bad("V.AdjustHue({})", "-0.6; 0.6; 'x'; None"),
    bad("V.AdjustGamma({})", "-1; 'x'; None; 1, 'x'; 1, 16777217"),
    bad("V.AutoContrast({})", "-1; 50; 'x'; 1, 256; 1, [256]; 1, ['a']; 1, 'x'; 1, 1.5"),
    bad("V.RandomAutoContrast({})", "-1; 50; 'x'; 1, 256; 1, [256]; 1, None, 2; 1, None, 'x'"),
    bad("V.RandomAdjustSharpness({})", "-1; 'x'; 1, 2; 1, 'x'; 16777217"),
    bad("V.Posterize({})", "-1; 9; 1.5; 'x'; None"),
    bad("V.RandomPosterize({})", "0; 9; 1.5; 'x'; (1,); (0, 5); (5, 1); (1, 9); (1.5, 2); (1, 300)"),
    bad("V.Solarize({})", "-1; 256; 'x'; (1,); (5, 1); (1, 'a'); (0, 300)"),
    bad("V.RandomSolarize({})", "5; [1, 2]; (1,); (5, 1); (1, 'a'); (0, 300); None"),
    bad("V.RandomColor({})", "5; (1,); (2, 1); (-1, 1); ('a', 1); 'x'"),
    bad("V.RandomSharpness({})", "5; (1,); (2, 1); (-1, 1); ('a', 1); 'x'"),
    bad(
        "V.RandomColorAdjust({})",
        "-1; 'x'; (1,); (2, 1); (-1, 1); 1, -1; 1, 1, -1; 1, 1, 1, -1; 1, 1, 1, 0.6; 1, 1, 1, (-0.6, 0.1); None",
    ),
    bad("V.RandomLighting({})", "-1; 'x'; None; 16777217"),
    bad(
        "V.GaussianBlur({})",
        "0; 2; -1; 1.5; 'x'; (3,); (3, 4); (3, 'a'); None; 3, -1; 3, 'x'; 3, (1,); 3, (1, -1); 3, (1, 'a')",
    ),
    bad(
        "V.Affine({})",
        "'x', (0, 0), 1, 0; 181, (0, 0), 1, 0; 0, 0, 1, 0; 0, (0,), 1, 0; 0, (0, 2), 1, 0; 0, ('a', 0), 1, 0; 0, (0, 0), 0, 0; 0, (0, 0), 'x', 0; 0, (0, 0), 1, 'x'; 0, (0, 0), 1, 181; 0, (0, 0), 1, (1,); 0, (0, 0), 1, (1, 181); 0, (0, 0), 1, (1, 'a'); 0, (0, 0), 1, 0, 1; 0, (0, 0), 1, 0, Inter.LINEAR, 256",
    ),
    bad(
        "V.RandomAffine({})",
        "-1; 'x'; (2, 1); 1, 0.1; 1, (0.1,); 1, (0.1, 2); 1, ('a', 0); 1, None, 1; 1, None, (2, 1); 1, None, (-1, 1); 1, None, (0, 0); 1, None, (1, 2, 3); 1, None, None, -1; 1, None, None, 0; 1, None, None, (2, 1); 1, None, None, (1, 2, 3); 1, None, None, (1, 2, 2, 1); 1, None, None, None, 1; 1, None, None, None, Inter.LINEAR, 256",
    ),
    bad(
        "V.Perspective({})",
        "1, 2; [(0, 0)], [(0, 0)]; [0, 0, 0, 0], [(0, 0)] * 4; [(0, 0, 0)] * 4, [(0, 0)] * 4; [(0, 0.5)] * 4, [(0, 0)] * 4; [(0, 0)] * 4, [(0, 'a')] * 4; [(0, 0)] * 4, [(0, 0)] * 3; [(0, 0)] * 4, [(0, 0)] * 4, 1",
    ),
    bad("V.RandomPerspective({})", "2.0; 1; -0.5; 'x'; 0.5, 1; 0.5, 2.0; 0.5, 0.5, 1"),
    bad(
        "V.Erase({})",
        "-1, 0, 1, 1; 0, -1, 1, 1; 0, 0, 0, 1; 0, 0, 1, 0; 0.5, 0, 1, 1; 0, 0, 1, 1, 'x'; 0, 0, 1, 1, (1, 2); 0, 0, 1, 1, 256; 0, 0, 1, 1, -1; 0, 0, 1, 1, (1, 2, 'a'); 0, 0, 1, 1, 0, 1",
    ),
    bad(
        "V.RandomErasing({})",
        "2; 'x'; 0.5, 1; 0.5, (2, 1); 0.5, (-1, 1); 0.5, (0, 0); 0.5, (0, 1, 2); 0.5, (0, 1), (2, 1); 0.5, (0, 1), (0, 1); 0.5, (0, 1), (1,); 0.5, (0, 1), (1, 2), 256; 0.5, (0, 1), (1, 2), 'x'; 0.5, (0, 1), (1, 2), (1, 2); 0.5, (0, 1), (1, 2), (1, 2, 300); 0.5, (0, 1), (1, 2), 1.5; 0.5, (0, 1), (1, 2), 0, 1; 0.5, (0, 1), (1, 2), 0, True, 0",
    ),
    bad("V.CutOut({})", "0; 'x'; 1.5; 1, 0; 1, 'x'; 1, 1, 1; None"),
    bad(
        "V.CutMixBatch({})",
        "1; V.ImageBatchFormat.NHWC, 0; V.ImageBatchFormat.NHWC, 'x'; V.ImageBatchFormat.NHWC, 1, 2; V.ImageBatchFormat.NHWC, 1, 'x'",
    ),
    bad("V.MixUpBatch({})", "0; -1; 'x'; None; 16777217"),
    bad("V.MixUp({})", "0, 1; 2, 0; 'x', 1; 2, 'x'; 2, 1, 1; 1.5, 1"),
    bad(
        "V.SlicePatches({})", "0; 1, 0; 1.5; 1, 1, 1; 1, 1, V.SliceMode.PAD, 256; 1, 1, V.SliceMode.PAD, 'x'"
    ),
    bad("V.RgbToHsv({})", "1; None"),
    bad("V.HsvToRgb({})", "1; None"),
    bad(
        "V.LinearTransformation({})", "1, 2; np.eye(3), 2; np.ones((2, 3)), np.ones(2); np.eye(3), np.ones(2)"
    ),
    bad(
        "V.UniformAugment({})",
        "[], 1; [V.HorizontalFlip()], 2; [V.HorizontalFlip()], 0; [V.HorizontalFlip()], 'x'; 5; [5, 6], 1; [V.HorizontalFlip], 1",
    ),
    bad(
        "V.AutoAugment({})",
        "1; 'imagenet'; V.AutoAugmentPolicy.SVHN, 1; V.AutoAugmentPolicy.SVHN, Inter.LINEAR, 256",
    ),
    bad(
        "V.RandAugment({})",
        "-1; 1.5; 2, -1; 2, 31; 2, 1.5; 2, 1, 1; 2, 1, 1.5; 2, 1, 5, 1; 2, 1, 5, Inter.LINEAR, 256",
    ),
    bad("V.TrivialAugmentWide({})", "1; 1.5; 5, 1; 5, Inter.LINEAR, 256"),
    bad("V.BoundingBoxAugment({})", "V.HorizontalFlip(), 2; V.HorizontalFlip(), 'x'; 5; None"),
    bad(
        "V.RandomSelectSubpolicy({})",
        "[]; 5; [[]]; [5]; [[(V.HorizontalFlip(),)]]; [[(V.HorizontalFlip(), 2)]]; [[(5, 0.5)]]",
    ),
    bad("V.RandomResize({})", "0; 'x'; (1, 2, 3)"),
    bad("V.ResizeWithBBox({})", "0; 'x'; (1, 2, 3); 5, 1; 5, None"),
    bad("V.Decode({})", "1; None; 'x'"),
    bad("V.Decode().device({})", "'CPU'; 'TPU'; 1; None"),
    bad("V.Resize(5).device({})", "'CPU'; 'TPU'"),
    bad(
        "V.encode_jpeg({})",
        "1; np.zeros((2, 2, 3), np.uint8), 'x'; np.zeros((2, 2, 3), np.uint8), 0; np.zeros((2, 2, 3), np.uint8), 101; np.zeros((2, 2, 2), np.uint8); np.zeros((2, 2, 3), np.float32); np.zeros(2, np.uint8)",
    ),
    bad(
        "V.encode_png({})",
        "1; np.zeros((2, 2, 3), np.uint8), 'x'; np.zeros((2, 2, 3), np.uint8), -1; np.zeros((2, 2, 3), np.uint8), 10; np.zeros((2, 2, 2), np.uint8); np.zeros((2, 2, 3), np.float32)",
    ),
    bad("V.get_image_size({})", "1; np.zeros(2); np.zeros((2, 2, 9))"),
    bad("V.get_image_num_channels({})", "1; np.zeros(1)"),
    bad("V.read_file({})", "1; '/nowhere'; ''; '/tmp'"),
    bad("V.read_image({})", "1; '/nowhere'; '/tmp', 1; '/tmp'; '/dev/null'"),
    bad(
        "V.write_file({})",
        "1, 2; '/tmp/x', 2; '', np.zeros(2, np.uint8); '/nowhere/x', np.zeros(2, np.uint8); '/tmp/x', np.zeros((2, 2), np.uint8); '/tmp/x', np.zeros(2, np.float32)",
    ),
    bad(
        "V.write_jpeg({})",
        "1, 2; '/tmp/x', 2; '/tmp/x', np.zeros((2, 2, 3), np.uint8), 'x'; '/tmp/x', np.zeros((2, 2, 3), np.uint8), 0",
    ),
    bad(
        "V.write_png({})",
        "1, 2; '/tmp/x', 2; '/tmp/x', np.zeros((2, 2, 3), np.uint8), 'x'; '/tmp/x', np.zeros((2, 2, 3), np.uint8), 10",
    ),
    bad("T.OneHot({})", "0; -1; 'x'; 1.5; True; 5, 'x'; 5, 1.5; 5, -0.1; None"),
    bad("T.TypeCast({})", "None; 'nothing'; 5"),
    bad("T.PadEnd({})", "5; [0]; [-1]; [1.5]; ['a']; None; (1, 2); [1], [1]; [True]"),
    bad(
        "T.Mask({})",
        "1, 2; T.Relational.EQ, None; T.Relational.EQ, [1]; T.Relational.EQ, 1, 'int'; T.Relational.EQ, 1, np.int32",
    ),
    bad("T.Slice({})", "'x'; 1.5; [1.5]; ['a']; (1, 2); [0, 'a']; slice('a')"),
    bad("T.Fill({})", "None; [1]; np.array(1)"),
    bad("T.Concatenate({})", "1; 'x'; 0.5; 0, [1]; 0, np.ones((2, 2)); 0, None, 5; 0, None, np.array(1)"),
    bad("T.Compose({})", "[]; 5; None; [5]; [V.HWC2CHW]; (V.HWC2CHW(),)"),
    bad(
        "T.RandomApply({})",
        "[]; 5; [5]; [V.HWC2CHW()], 2; [V.HWC2CHW()], 'x'; [V.HWC2CHW()], -1; [V.HWC2CHW]",
    ),
    bad("T.RandomChoice({})", "[]; 5; [5]; [V.HWC2CHW]"),
    bad("T.RandomOrder({})", "[]; 5; [5]; [V.HWC2CHW]"),
    bad("T.Plugin({})", "1, 'x'; 'x', 1; 'x', 'y', 1"),
]

CASES = each("\n".join(_LINES), "-")
