"""One file per kind of stage; each enters its stages into the table of this room."""

from millrace._src.core.lazy import import_all

# now, not when the first node is met: a first batch is waited for
import_all(__name__, __path__)
