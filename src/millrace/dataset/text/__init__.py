"""Text transforms, vocabularies and word vectors, under MindSpore's names."""

from __future__ import annotations

from millrace._src.data.transforms.text.hugging_face import HuggingFaceTokenizer  # MindSpore has none
from millrace.dataset.text import transforms, utils
from millrace.dataset.text.transforms import *  # noqa: F403 (both modules say what they hold)
from millrace.dataset.text.utils import *  # noqa: F403

__all__ = ["HuggingFaceTokenizer", "transforms", "utils"]
__all__ += transforms.__all__
__all__ += utils.__all__
