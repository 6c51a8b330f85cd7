"""Images with masks: one random crop and flip for both, resized each in its way, batch 32."""

from __future__ import annotations

from benchmarks.images import dali, grain, huggingface, like_mindspore, tensorflow, torch, webdataset

from . import STREAM, Bar

TITLE = "Segmentation pairs"
QUESTION = "image and mask, the same random crop 320 and flip, resize to 224, batch 32"
NOTE = (
    "600 JPEG images with PNG masks in the folders of Pascal VOC, shuffled; the image is resized bilinearly and "
    "normalised, the mask takes the nearest pixel and stays uint8. Millrace and MindSpore run the same lines: "
    "VOCDataset, RandomCrop and RandomHorizontalFlip over both columns, then each column's own. PyTorch: "
    "torchvision's v2 transforms, which take image and mask together, or OpenCV."
)
_GREY = "it decodes the mask as one channel; Millrace, like MindSpore, makes three of it, and one again at the end"
WHY = {
    "mindspore": "from the file to the batch it runs in compiled threads",
    **dict.fromkeys(("torch", "tensorflow", "grain", "dali", "webdataset", "huggingface"), _GREY),
}
FILES = ("millrace", "webdataset")
METRICS = STREAM
BARS = (Bar("at least 1.1 times Grain", "rows_per_s", ratio=1.1, peer="grain"),)
VARIANTS = {
    **like_mindspore.variants(like_mindspore.pairs),
    "torch": torch.variants(torch.pairs, ("Pillow", "OpenCV")),
    "tensorflow": tensorflow.variants(tensorflow.pairs),
    "grain": grain.variants(grain.pairs),
    "dali": dali.variants(dali.pairs),
    "webdataset": webdataset.variants(webdataset.pairs),
    "huggingface": huggingface.variants(huggingface.pairs),
}
