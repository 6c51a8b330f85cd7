"""``Tensor`` on PyTorch: storage, operators, indexing, parameters, initializers, context."""
