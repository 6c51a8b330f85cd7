"""Learning rates that change from step to step: cells that an optimizer asks, and lists."""
