"""Summaries for TensorBoard: scalars, images, histograms and graphs."""
