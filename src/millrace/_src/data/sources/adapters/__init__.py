"""What people already have, as it is: torch and Hugging Face datasets, WebDataset tars, Parquet and Arrow."""
