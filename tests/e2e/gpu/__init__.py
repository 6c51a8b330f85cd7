"""Correctness on a GPU, in one command: `make gpu`."""
