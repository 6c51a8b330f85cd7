"""Ways to train with less work: frozen parameters, gathered gradients, a normalised last layer."""
