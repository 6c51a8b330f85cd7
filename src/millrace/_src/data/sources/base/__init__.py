"""Base classes, samplers and argument checks shared by sources."""
