"""Process groups, collectives, gradient buckets and sharded optimizer states."""
