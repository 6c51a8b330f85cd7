"""Where rows come from: one file per source."""

from __future__ import annotations

from millrace.data.fluent.dataset import SAVERS

SAVERS["mindrecord"] = ("millrace.data.sources.save", "save_mindrecord")
SAVERS["tfrecord"] = ("millrace.data.sources.save", "save_tfrecord")
