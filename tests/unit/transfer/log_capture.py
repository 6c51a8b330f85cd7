"""What Millrace writes to its log, as a list that grows while a block runs."""

from __future__ import annotations

import contextlib
import logging


@contextlib.contextmanager
def logged(name, then=lambda: None):
    """The messages of one logger; `then` is called after each."""
    said = []

    class Watch(logging.Filter):
        def filter(self, record):
            said.append(record.getMessage())
            then()
            return True

    watch, logger = Watch(), logging.getLogger(name)
    logger.addFilter(watch)
    try:
        yield said
    finally:
        logger.removeFilter(watch)
