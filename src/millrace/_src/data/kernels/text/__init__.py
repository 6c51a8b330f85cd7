"""Text kernels: pure functions on strings, vocabularies and word vectors."""
