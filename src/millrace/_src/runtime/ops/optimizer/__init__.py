"""Update steps of optimizers."""
