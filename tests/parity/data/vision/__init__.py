"""Parity of the vision and generic transforms with MindSpore 2.7.0, one value at a time.

inputs.py   the values that go in, by name: arrays, Pillow images, encoded files
cases/      what is called on them
record.py   calls it under real MindSpore and writes goldens/ (not needed to run the tests)
test_vision.py   calls it under Millrace and compares
"""
