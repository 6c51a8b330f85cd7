"""A run as it goes, for another process to see: a file that is written while it goes, and a page that reads it.

The file is all there is between the two. The run writes it (``record``), whoever watches reads it (``file``,
``state``), so that a run that has ended looks as it did while it went.
"""
