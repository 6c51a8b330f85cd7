"""SciPy's functions on tensors."""
