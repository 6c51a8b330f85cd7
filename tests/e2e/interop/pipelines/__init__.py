"""Random pipelines, run on Millrace and on MindSpore: how they are drawn, run, compared and made small.

| file | holds |
|---|---|
| `tree.py` | a pipeline as data, and as the Python text that builds it |
| `sources.py`, `ops.py`, `maps.py` | what is drawn, with the columns that each step leaves |
| `files.py` | the files that the sources read |
| `names.py` | the names that the text may use, for either library |
| `outcome.py` | run the text; give rows, sizes and errors as JSON |
| `child.py` | a process per library, started again when it crashes or hangs |
| `compare.py`, `shrink.py` | what differs, and the smallest pipeline that still shows it |
| `known.json` | differences that stay, each with its reason |
"""
