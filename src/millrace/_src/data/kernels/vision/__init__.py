"""Image kernels: pure functions on arrays and Pillow images. A Pillow image gives a Pillow image."""
