"""Where rows come from: one file per source."""

from __future__ import annotations

from millrace._src.data.pipeline.dataset import SAVERS

SAVERS["mindrecord"] = ("millrace._src.data.sources.save", "save_mindrecord")
SAVERS["tfrecord"] = ("millrace._src.data.sources.save", "save_tfrecord")
