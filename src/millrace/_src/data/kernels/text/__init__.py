"""Text kernels: pure functions on strings, and the tables (vocabularies, word vectors) they look things up in."""
