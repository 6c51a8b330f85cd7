"""What makes ``Tensor`` compute: storage on PyTorch, operators, indexing, parameters, initializers, the context."""
