"""project and rename: no row is touched."""

from __future__ import annotations

from millrace.core.chunk import Chunk
from millrace.core.errors import PlanError
from millrace.core.schema import ColumnType, Schema
from millrace.core.settings import Settings
from millrace.data.plan.ops import Project, Rename

from .failures import Failures
from .table import Step, step_for

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
        self.op, self.checked = op, False
        self.names = dict(zip(op.input_columns, op.output_columns, strict=True))

    def __call__(self, chunk: Chunk, failures: Failures) -> Chunk:
        if not self.checked:  # after a flat_map the columns are known only now
            self.op.schema((Schema(dict.fromkeys(chunk.columns, ColumnType())),))
            self.checked = True
        return chunk.with_columns({self.names.get(n, n): c for n, c in chunk.columns.items()})

    def close(self) -> None: ...


@step_for(Project)
def _project(op: Project, seed: int, settings: Settings, aligned: bool) -> Step:
    return ProjectStep(op)


@step_for(Rename)
def _rename(op: Rename, seed: int, settings: Settings, aligned: bool) -> Step:
    return RenameStep(op)
