"""Public audio datasets."""
