"""Nets in MindSpore's style. They are built from `ms`, which is Millrace or MindSpore, so that both run the same."""
