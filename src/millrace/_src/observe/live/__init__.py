"""Live monitoring of a run from another process: an event log, and a page that reads it.

The file is the only interface between the two. The run writes it (``recorder``), viewers read it (``event_log``,
``run_state``), so that a finished run is shown like a running one.
"""
