"""project and rename: no row is touched."""

from __future__ import annotations

from millrace._src.core.errors import PlanError
from millrace._src.core.settings import Settings
from millrace._src.core.values.chunk import Chunk
from millrace._src.data.plan.nodes.order_ops import Project, Rename

from .failures import Failures
from .step_registry import Step, step_for

__all__ = ["ProjectStep", "RenameStep"]


class ProjectStep:
    def __init__(self, op: Project) -> None:
        self.columns = op.columns

    def __call__(self, chunk: Chunk, failures: Failures) -> Chunk:
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

    def __call__(self, chunk: Chunk, failures: Failures) -> Chunk:
        taken = [n for n in self.names.values() if n in chunk.columns and n not in self.names]
        if taken:  # after a flat_map the columns are known only now
            raise PlanError(
                "Invalid column, rename operation does not support rename one column name into another already exist "
                f"column name, existing column name is: {taken[0]}. The columns are {list(chunk.columns)}."
            )
        return chunk.with_columns({self.names.get(n, n): c for n, c in chunk.columns.items()})

    def close(self) -> None: ...


@step_for(Project)
def _project(op: Project, seed: int, settings: Settings, aligned: bool) -> Step:
    return ProjectStep(op)


@step_for(Rename)
def _rename(op: Rename, seed: int, settings: Settings, aligned: bool) -> Step:
    return RenameStep(op)
