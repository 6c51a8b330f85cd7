"""The settings module of the detection scripts: values are changed while the script runs."""

image_size = (0, 0)
scales = []
max_boxes = 2
