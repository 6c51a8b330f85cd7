"""Text transforms, vocabularies and word vectors, under MindSpore's names."""

from __future__ import annotations

__all__: list[str] = []
