"""Import Millrace as ``mindspore``."""
