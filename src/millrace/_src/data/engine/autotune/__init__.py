"""Numbers that no row depends on, found while a run goes on: workers, rows per chunk, what is ready ahead."""
