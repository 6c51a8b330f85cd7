"""``python -m millrace`` is the ``millrace`` command."""

import sys

from millrace._src.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
