"""Graph mode: capture of a step, rewrite passes, replay, CUDA Graphs, serialized programs."""
