"""Storage methods of Tensor: address, bytes, storage, device transfers, and metadata that MindSpore keeps on
tensors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.values.dtype import DType
from millrace._src.core.values.tensor import Tensor

from .backend import execution_mode as modes
from .storage import DTYPES_FROM_TORCH, as_torch_tensor, to_torch_dtype, wrap
from .symbolic_shape import AbstractStorage

__all__ = ["StorageMethods", "UntypedStorage"]


class UntypedStorage:
    """The memory of a tensor, shared by tensors that are views of each other."""

    def __init__(self, held: torch.UntypedStorage) -> None:
        self._held = held

    def nbytes(self) -> int:
        """Size in bytes."""
        return self._held.nbytes()

    size = nbytes
    __len__ = nbytes

    def data_ptr(self) -> int:
        """The address of the first byte."""
        return self._held.data_ptr()

    @property
    def device(self) -> str:
        """The device of the memory: ``"CPU"``, or ``"GPU:0"``."""
        device = self._held.device
        return "CPU" if device.type == "cpu" else f"GPU:{device.index or 0}"

    def tolist(self) -> list[int]:
        """The bytes as integers."""
        return list(self._held.tolist())

    def copy_(self, other: UntypedStorage) -> UntypedStorage:
        """Copy the bytes of another storage of the same size."""
        self._held.copy_(other._held)
        return self

    def __getitem__(self, index: int) -> int:
        return int(self._held[index])

    def __repr__(self) -> str:
        return f"UntypedStorage({self.nbytes()} bytes on {self.device})"


class StorageMethods:
    """Members that are added to Tensor."""

    # the initializer of the values, if any
    init: Any = None
    init_finished: bool = True
    init_flag: bool = False
    # MindSpore adds it to the seed of an initializer; here all initializers share one generator
    delta_seed: int = 0
    const_arg: bool = False
    # set for parameters only
    param_info: Any = None

    def data_ptr(self: Any) -> int:
        """The address of the first element."""
        return int(self._torch.data_ptr())

    def untyped_storage(self: Any) -> UntypedStorage:
        """The storage of the tensor."""
        return UntypedStorage(self._torch.untyped_storage())

    storage = untyped_storage

    def get_bytes(self: Any) -> bytes:
        """The elements as bytes, in row-major order."""
        flat: torch.Tensor = self._torch.detach().cpu().contiguous().reshape(-1)
        return bytes(flat.view(torch.uint8).numpy().tobytes()) if flat.numel() else b""

    @staticmethod
    def convert_bytes_to_tensor(bytes_obj: bytes, dims: tuple[int, ...], dtype: DType) -> Tensor:
        """Create a tensor from the bytes of :meth:`get_bytes`. Their number must match the shape."""
        torch_dtype = to_torch_dtype(dtype)
        meta_tensor = torch.empty(tuple(dims), dtype=torch_dtype, device="meta")
        if meta_tensor.nbytes != len(bytes_obj):
            raise ArgumentValueError(
                f"For 'convert_bytes_to_tensor', shape {tuple(dims)} of {DTYPES_FROM_TORCH[torch_dtype]} "
                f"needs {meta_tensor.nbytes} bytes, "
                f"but got {len(bytes_obj)}."
            )
        if not bytes_obj:
            return wrap(torch.empty(tuple(dims), dtype=torch_dtype))
        return wrap(torch.frombuffer(bytearray(bytes_obj), dtype=torch_dtype).reshape(tuple(dims)))

    def value(self: Any) -> Tensor:
        """The values, as a tensor that shares the memory."""
        return wrap(self._torch)

    def assign_value(self: Any, value: Any) -> Any:
        """Take the values of another tensor; in place if shape and dtype are the same."""
        new = as_torch_tensor(value)
        with torch.no_grad():
            if new.shape == self._torch.shape and new.dtype == self._torch.dtype:
                self._torch.copy_(new)
            else:
                modes.invalidate_captures()
                self._torch = new.detach().clone()
        return self

    def set_dtype(self: Any, dtype: DType) -> DType:
        """Cast the elements in place and return the dtype."""
        wanted = to_torch_dtype(dtype)
        if self._torch.dtype != wanted:
            modes.invalidate_captures()
            self._torch = self._torch.detach().to(wanted)
        return DTYPES_FROM_TORCH[wanted]

    def set_const_arg(self: Any, const_arg: bool = True) -> Any:
        """Mark the values of this tensor as constants of a graph. The mark is stored; a capture reads the
        values in every run.
        """
        if not isinstance(const_arg, bool):
            raise ArgumentTypeError(
                f"For 'set_const_arg', 'const_arg' must be bool, but got {type(const_arg).__name__}."
            )
        self.const_arg = const_arg
        return self

    def is_init(self: Any) -> bool:
        """The flag of :meth:`set_init_flag`."""
        return bool(self.init_flag)

    def set_init_flag(self: Any, flag: bool) -> None:
        """Set a flag that the tensor is initialized."""
        self.init_flag = flag

    def hooks(self: Any) -> list[Callable[..., Any]]:
        """The hooks registered with ``register_hook``."""
        return list(self.__dict__.get("_gradient_hooks", {}).values())

    def offload(self: Any, release: bool = True) -> bool:
        """Move the elements to host memory; later operations compute there. Returns True."""
        if self._torch.device.type != "cpu":
            modes.invalidate_captures()
            self._torch = self._torch.detach().cpu()
        return True

    def offload_file_path(self: Any) -> str:
        """The file that holds offloaded elements: always ""."""
        return ""

    def data_sync(self: Any, need_wait: bool = True) -> None:
        """Block until the device has computed this tensor."""
        if need_wait and self._torch.is_cuda:
            torch.cuda.synchronize(self._torch.device)

    def wait_pipeline(self: Any) -> None:
        """Wait until the computation of this tensor is dispatched: it always is."""

    def flush_from_cache(self: Any) -> None:
        """Flush a parameter cache: there is none."""

    def is_persistent_data(self: Any) -> bool:
        """Whether the elements are in persistent memory: always False."""
        return False

    def slice_num_of_persistent_data(self: Any) -> None:
        """The number of slices in persistent memory: None."""

    def slice_shape_of_persistent_data(self: Any) -> None:
        """The shape of a slice in persistent memory: None."""

    @property
    def symbolic_shape(self: Any) -> list[Any] | None:
        """The constraints of ``Symbol`` for unknown lengths; None without any."""
        lazy = self.__dict__.get("_lazy")
        return lazy.symbols if isinstance(lazy, AbstractStorage) else None
