"""Sources: one file per dataset."""

from __future__ import annotations

from millrace._src.data.pipeline.dataset import WRITERS

WRITERS["mindrecord"] = ("millrace._src.data.sources.save", "save_mindrecord")
WRITERS["tfrecord"] = ("millrace._src.data.sources.save", "save_tfrecord")
