"""Tfrecord."""
