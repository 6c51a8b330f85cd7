"""Remote files, object storage, framed records, encryption, JSON with limits, temporary folders."""
