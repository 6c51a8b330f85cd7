"""Inline executor: runs chunks synchronously in the calling thread.

For debugging, tiny jobs, and as the reference for the other executors.
"""

from __future__ import annotations

from millrace._src.core.settings import Settings
from millrace._src.core.values.chunk import Chunk

from .base import ChunkFunction, Executor, Task

__all__ = ["InlineExecutor", "make"]


class InlineExecutor(Executor):
    name = "inline"
    num_workers = 1

    def __init__(self, runner: ChunkFunction) -> None:
        self.runner = runner

    def submit(self, chunk: Chunk) -> Task:
        task = Task(chunk)
        task.run(self.runner)
        return task

    def stacks(self) -> str:
        return "inline: the calling thread itself"

    def close(self) -> None:
        self.runner.close()


def make(runner: ChunkFunction, workers: int, name: str, settings: Settings) -> Executor:
    return InlineExecutor(runner)
