"""What makes ``Tensor`` compute: storage on PyTorch, operators, indexing, parameters, initialisers, the context."""
