"""What a segment does to one chunk: a runner over compiled steps, one step per op."""

from millrace._src.core.lazy import import_all

# now, not when the first node is met: a first batch is waited for
import_all(__name__, __path__)
