"""Optimizers and learning rates against values recorded from MindSpore."""
