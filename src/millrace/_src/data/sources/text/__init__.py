"""Public text datasets."""
