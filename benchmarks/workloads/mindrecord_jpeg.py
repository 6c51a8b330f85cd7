"""The JPEG files packed into records, decoded and augmented: does the record format keep up?"""

from __future__ import annotations

from benchmarks.images import dali, grain, huggingface, like_mindspore, tensorflow, webdataset

from . import STREAM, jpeg_train

TITLE = "Packed JPEG"
QUESTION = "the same 600 files in records, shuffled, the train steps, batch 32"
NOTE = (
    "Each in its own record format: MindRecord for Millrace and MindSpore (the same file, the same lines), TFRecord "
    "for tf.data and DALI, ArrayRecord for Grain, tars for WebDataset, Arrow for Hugging Face. PyTorch has none. The "
    "steps are those of JPEG train."
)
WHY = jpeg_train.WHY
FILES = ("millrace", "tensorflow", "grain", "dali", "huggingface")
METRICS = STREAM
BARS = ()
VARIANTS = {
    **like_mindspore.variants(like_mindspore.packed),
    "tensorflow": tensorflow.variants(tensorflow.packed),
    "grain": grain.variants(grain.packed),
    "dali": dali.variants(dali.packed),
    "webdataset": webdataset.variants(webdataset.packed),
    "huggingface": huggingface.variants(huggingface.packed),
}
