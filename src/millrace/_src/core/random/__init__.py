"""Counter-based random numbers, index permutations, shuffle modes, the global seed."""
