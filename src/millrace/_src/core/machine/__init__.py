"""CPU cores, control groups, shared memory, host allocators, Ray connection."""
