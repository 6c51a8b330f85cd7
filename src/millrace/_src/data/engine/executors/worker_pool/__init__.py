"""Worker pool: workers outside this process, one supervisor thread per worker."""
