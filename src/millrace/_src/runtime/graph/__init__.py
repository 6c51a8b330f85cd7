"""Graph mode: a step is run once and written down, call by call, and replayed from then on."""
