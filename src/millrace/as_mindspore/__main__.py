"""``python -m millrace.as_mindspore``: run a script with Millrace in place of ``mindspore``."""

import sys

from millrace._src.compat.as_mindspore.run_script import main

if __name__ == "__main__":
    main(sys.argv[1:])
