"""``Cell``, layers, losses and training wrappers."""
