"""JPEG files, as an evaluation wants them: shorter side to 256, the centre 224 x 224, normalised, batch 32."""

from __future__ import annotations

from benchmarks.images import dali, grain, huggingface, like_mindspore, tensorflow, torch, webdataset

from . import STREAM, Bar

TITLE = "JPEG eval"
QUESTION = "the same files, decode, resize to 256, centre crop 224, normalise, CHW, batch 32"
NOTE = (
    "In order. Millrace and MindSpore run the same lines: ImageFolderDataset, Decode, Resize(256), CenterCrop(224), "
    "Normalize, HWC2CHW, batch(32). The others as in the table before."
)
WHY = dict.fromkeys(
    ("mindspore", "tensorflow", "dali"), "from the file to the batch it runs in compiled threads"
)
FILES = ("millrace",)
METRICS = STREAM
BARS = (
    Bar("at least 2.1 times MindSpore", "rows_per_s", ratio=2.1),
    Bar("ahead of all others", "rows_per_s", first=True),
)
VARIANTS = {
    **like_mindspore.variants(like_mindspore.evaluate),
    "torch": torch.variants(torch.evaluate),
    "tensorflow": tensorflow.variants(tensorflow.evaluate),
    "grain": grain.variants(grain.evaluate),
    "dali": dali.variants(dali.evaluate),
    "webdataset": webdataset.variants(webdataset.evaluate),
    "huggingface": huggingface.variants(huggingface.evaluate),
}
