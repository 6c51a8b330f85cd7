"""File access shared by formats: byte ranges, file lists, decompression, local copies, offset cache."""
