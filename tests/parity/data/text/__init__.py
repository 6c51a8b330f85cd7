"""Parity of the text transforms, vocabularies and word vectors with MindSpore 2.7.0, one value at a time.

inputs.py   the values that go in, by name: strings of many scripts, arrays of words, bytes, numbers
cases/      what is called on them, one file per family; a file is found by being there
record.py   calls it under real MindSpore and writes goldens/ (not needed to run the tests)
test_text.py   calls it under Millrace and compares: values, kinds of type, offsets, errors
"""
