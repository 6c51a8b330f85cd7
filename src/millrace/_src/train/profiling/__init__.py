"""The profiler: what a training spends its time on, as a table and as a trace that Chrome and Perfetto open."""
