"""JPEG files, as a training step wants them: a random part to 224 x 224, flipped, normalised, batch 32."""

from __future__ import annotations

from benchmarks.images import dali, grain, huggingface, like_mindspore, tensorflow, torch, webdataset

from . import STREAM, Bar

TITLE = "JPEG train"
QUESTION = "600 files of about 95 KB, random resized crop to 224, flip, normalise, CHW, batch 32"
NOTE = (
    "A folder of drawn pictures of about 500 x 375, shuffled. Millrace and MindSpore run the same lines: "
    "ImageFolderDataset, RandomCropDecodeResize(224), RandomHorizontalFlip, Normalize, HWC2CHW, batch(32). tf.data: "
    "decode_and_crop_jpeg with AUTOTUNE. DALI: image_random_crop, resize, crop_mirror_normalize. PyTorch: ImageFolder "
    "with torchvision's v2 transforms on Pillow images, on tensors of its own decoder, and OpenCV in their place. "
    "Grain, WebDataset (tars) and Hugging Face leave the image work to Python: Pillow and torchvision, or OpenCV. All "
    "give float32 images and a label."
)
_COMPILED = (
    "from the file to the batch it runs in compiled threads, and it decodes only the part that is cut out"
)
WHY = {"mindspore": _COMPILED, "tensorflow": _COMPILED, "dali": _COMPILED}
FILES = ("millrace", "webdataset")
METRICS = STREAM
BARS = (
    Bar("at least 1.6 times MindSpore", "rows_per_s", ratio=1.6),
    Bar("ahead of all others", "rows_per_s", first=True),
)
VARIANTS = {
    **like_mindspore.variants(like_mindspore.train),
    "torch": torch.variants(torch.train),
    "tensorflow": tensorflow.variants(tensorflow.train),
    "grain": grain.variants(grain.train),
    "dali": dali.variants(dali.train),
    "webdataset": webdataset.variants(webdataset.train),
    "huggingface": huggingface.variants(huggingface.train),
}
