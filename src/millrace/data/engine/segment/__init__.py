"""What a segment does to one chunk: a runner over compiled steps, one step per op."""
