"""Summaries: numbers, pictures, histograms and nets in files that TensorBoard reads."""
