"""Executor registry: creates an executor by name.

Each executor is the module of that name in this folder, with a function ``make``. The names and their properties are in
``core/executor_traits.py``.
"""

from __future__ import annotations

import importlib

from millrace._src.core.settings import Settings

from .base import ChunkFunction, Executor

__all__ = ["make_executor"]


def make_executor(
    executor_name: str, runner: ChunkFunction, workers: int, name: str, settings: Settings
) -> Executor:
    """Create the named executor; PlanError where it cannot run this work."""
    module = importlib.import_module(f"{__package__}.{executor_name}")
    executor: Executor = module.make(runner, workers, name, settings)
    return executor
