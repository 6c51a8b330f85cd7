"""Synchronization of the pipeline with training: sync_wait and sync_update."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from millrace._src.core.args import checked
from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, PlanError
from millrace._src.data.engine.stages.sync_wait import SyncGate, gates
from millrace._src.data.plan.node import call_site
from millrace._src.data.plan.nodes import order_ops as ops

from .base import DatasetBase

if TYPE_CHECKING:
    from .dataset import Dataset

__all__ = ["SyncOps"]


class SyncOps(DatasetBase):
    @checked
    def sync_wait(
        self, condition_name: str, num_batch: int = 1, callback: Callable[..., Any] | None = None
    ) -> Dataset:
        """Let only ``num_batch`` batches pass until sync_update() is called, which passes its data to the callback.

        >>> import millrace.dataset as ds
        >>> data = ds.NumpySlicesDataset([1, 2, 3], shuffle=False).sync_wait("step", 1)
        >>> seen = []
        >>> for row in data.create_tuple_iterator(num_epochs=1):
        ...     seen.append(row[0].item())
        ...     data.sync_update("step")
        >>> seen
        [1, 2, 3]
        """
        if num_batch <= 0:
            raise ArgumentValueError("num_batch need to be greater than 0.")
        if condition_name in self._session.all_gates():
            raise PlanError("Condition name is already in use.")
        gate, token = SyncGate(num_batch, callback), secrets.token_hex(16)
        gates[token] = gate
        dataset = self._with_node(
            ops.SyncWait(
                inputs=(self._node,),
                call_site=call_site(),
                condition_name=condition_name,
                num_batch=num_batch,
                gate_id=token,
            )
        )
        dataset._session.gates[condition_name] = gate
        return dataset

    def sync_update(self, condition_name: str, num_batch: int | None = None, data: Any = None) -> None:
        """Open the gate of this name for ``num_batch`` more batches (as many as sync_wait lets through).

        >>> import millrace.dataset as ds
        >>> data = ds.NumpySlicesDataset([1, 2]).sync_wait("step", callback=print)
        >>> data.sync_update("step", data="for the callback")
        for the callback
        """
        if num_batch is not None and not (isinstance(num_batch, int) and num_batch > 0):
            raise PlanError(f"Sync_update batch size can only be positive integer, got : {num_batch}.")
        if not isinstance(condition_name, str):
            raise ArgumentTypeError(
                f"Argument condition_name with value {condition_name} is not of type str, "
                f"but got {type(condition_name)}."
            )
        known_gates = self._session.all_gates()
        if condition_name not in known_gates:
            raise PlanError("Condition name not found.")
        known_gates[condition_name].update(num_batch, data)

    def disable_sync(self) -> None:
        """Open all gates permanently.

        >>> import millrace.dataset as ds
        >>> data = ds.NumpySlicesDataset([1, 2]).sync_wait("step")
        >>> data.disable_sync()
        """
        for gate in self._session.all_gates().values():
            gate.disable()

    def get_sync_notifiers(self) -> dict[str, Any]:
        """The update function of each gate, by name.

        >>> import millrace.dataset as ds
        >>> list(ds.NumpySlicesDataset([1, 2]).sync_wait("step").get_sync_notifiers())
        ['step']
        """
        return {name: gate.update for name, gate in self._session.all_gates().items()}

    def is_sync(self) -> bool:
        """Whether there is a gate anywhere.

        >>> import millrace.dataset as ds
        >>> ds.NumpySlicesDataset([1, 2]).sync_wait("step").batch(2).is_sync()
        True
        """
        return bool(self._session.all_gates())
