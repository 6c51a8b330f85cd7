"""Segment: the fused row-wise steps that run on one chunk."""

from millrace._src.core.lazy import import_all

# imported now, so that the first batch does not wait for it
import_all(__name__, __path__)
