"""Image kernels: pure functions on arrays and Pillow images. A Pillow image in is a Pillow image out."""
