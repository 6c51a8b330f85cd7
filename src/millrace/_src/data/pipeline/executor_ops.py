"""run_on: set the executor of one dataset; ``config.set_executor`` sets it for all."""

from __future__ import annotations

import copy
import math
from typing import TYPE_CHECKING, Any

from millrace._src.core.args import checked
from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.executor_traits import EXECUTORS
from millrace._src.core.settings import parse_bytes

from .base import DatasetBase

if TYPE_CHECKING:
    from .dataset import Dataset

__all__ = ["ExecutorOps"]


class ExecutorOps(DatasetBase):
    @checked
    def run_on(
        self,
        executor: str | None,
        *,
        address: str | None = None,
        num_cpus: float | int | None = None,
        object_store_memory: int | str | None = None,
    ) -> Dataset:
        """The same dataset, run on ``"threads"``, ``"processes"``, ``"ray"`` or ``"inline"``.

        None lets the engine choose. Rows, their order and a saved state never depend on it. It also applies to datasets
        made from this one, and overrides ``config.set_executor``; the last call counts.

        With ``"ray"`` (extra ``ray``) row-wise work runs in actors on the nodes of a cluster: the one at ``address``
        (``"host:port"``, ``"auto"``), the one this program is connected to, that of ``RAY_ADDRESS``, or else one that
        is started on this machine and stopped with the iterator. Each worker reserves ``num_cpus`` CPUs (default: 1);
        ``object_store_memory`` is the size of the object store of a cluster that is started, such as ``"2GB"``.

        >>> import millrace.dataset as ds
        >>> data = ds.NumpySlicesDataset([1, 2, 3], shuffle=False).map(lambda x: x * x).run_on("threads")
        >>> [row[0].item() for row in data]
        [1, 4, 9]
        """
        if executor is not None and executor not in EXECUTORS:
            raise ArgumentValueError(f"executor {executor!r} is not one of {', '.join(EXECUTORS)}")
        if num_cpus is not None and not 0 <= num_cpus < math.inf:
            raise ArgumentValueError(f"num_cpus must be 0 or more, but got {num_cpus}")
        if object_store_memory is not None:
            object_store_memory = parse_bytes(object_store_memory, ArgumentValueError)
        arguments = {"address": address, "num_cpus": num_cpus, "object_store_memory": object_store_memory}
        options = {name: value for name, value in arguments.items() if value is not None}
        supported = () if executor is None else EXECUTORS[executor].options
        for name in options:
            if name not in supported:
                known = ", ".join(supported) or "none"
                raise ArgumentTypeError(
                    f"run_on({executor!r}) takes no {name}; options of {executor!r}: {known}"
                )
        duplicate: Any = copy.deepcopy(self)
        duplicate._session.executor_choice = (executor, tuple(options.items()))
        return duplicate
