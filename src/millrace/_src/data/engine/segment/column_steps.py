"""Project and rename steps: select and rename columns without touching rows."""

from __future__ import annotations

from millrace._src.core.errors import PlanError
from millrace._src.core.settings import Settings
from millrace._src.core.values.chunk import Chunk
from millrace._src.data.plan.nodes.order_ops import Project, Rename

from .failures import RowErrors
from .step_registry import SegmentStep, register_step

__all__ = ["ProjectStep", "RenameStep"]


class ProjectStep:
    def __init__(self, op: Project) -> None:
        self.columns = op.columns

    def __call__(self, chunk: Chunk, failures: RowErrors) -> Chunk:
        for name in self.columns:
            if name not in chunk.columns:
                raise PlanError(
                    f"Invalid column, column name: {name} does not exist. The columns are {list(chunk.columns)}."
                )
        return chunk.with_columns({name: chunk.columns[name] for name in self.columns})

    def close(self) -> None: ...


class RenameStep:
    def __init__(self, op: Rename) -> None:
        self.names = dict(zip(op.input_columns, op.output_columns, strict=True))

    def __call__(self, chunk: Chunk, failures: RowErrors) -> Chunk:
        taken = [n for n in self.names.values() if n in chunk.columns and n not in self.names]
        if taken:  # after a flat_map the columns are known only now
            raise PlanError(
                "Invalid column, rename operation does not support rename one column name into another already exist "
                f"column name, existing column name is: {taken[0]}. The columns are {list(chunk.columns)}."
            )
        return chunk.with_columns({self.names.get(n, n): c for n, c in chunk.columns.items()})

    def close(self) -> None: ...


@register_step(Project)
def _project(op: Project, seed: int, settings: Settings, aligned: bool) -> SegmentStep:
    return ProjectStep(op)


@register_step(Rename)
def _rename(op: Rename, seed: int, settings: Settings, aligned: bool) -> SegmentStep:
    return RenameStep(op)
