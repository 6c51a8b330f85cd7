"""Parity of the audio transforms with MindSpore 2.7.0, one value at a time.

inputs.py   the values that go in, by name: waveforms, spectrograms
cases/      what is called on them, a file per family, with the rules of where and why results differ
record.py   calls it under real MindSpore and writes goldens/ (not needed to run the tests)
compare.py  how far two results are apart, and which rule holds
farthest.py prints the largest difference of each operation
test_audio.py   calls it under Millrace and compares
"""
