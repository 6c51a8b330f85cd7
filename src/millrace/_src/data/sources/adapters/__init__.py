"""Adapters for datasets of other libraries: PyTorch, Hugging Face, WebDataset, Parquet and Arrow."""
