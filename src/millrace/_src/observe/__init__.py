"""Monitoring of runs: report, bottleneck diagnosis, HTML page, live terminal view. It only reads counters."""
