"""Where rows come from: one file per source."""

from __future__ import annotations

from millrace.fluent.dataset import SAVERS

SAVERS["mindrecord"] = ("millrace.sources.save", "save_mindrecord")
SAVERS["tfrecord"] = ("millrace.sources.save", "save_tfrecord")
