"""Process-wide setup of ``import millrace``: errors, logging, OpenMP, old module names, hooks that load PyTorch."""

from __future__ import annotations

from types import ModuleType

# loaded in each process: a pickled error refers to its class by `millrace.errors`
from millrace._src.core import errors as errors
from millrace._src.core.device_queues import register_device_layer
from millrace._src.core.log import configure
from millrace._src.core.machine.openmp import limit_openmp_spin
from millrace._src.core.modules_0_2_0 import install
from millrace._src.core.values.tensor import register_runtime


def _load_arithmetic() -> None:
    """Add to Tensor what only PyTorch computes."""
    try:
        from millrace._src.runtime.ops.declare.tensor_methods import bind_op_methods
    except ModuleNotFoundError as error:
        raise _explained(error, "computing with tensors") from error
    bind_op_methods()


def _load_transfer() -> ModuleType:
    """The host-to-device transfer."""
    try:
        import millrace._src.transfer as transfer
    except ModuleNotFoundError as error:
        raise _explained(error, "taking batches to a device") from error
    return transfer


def _explained(error: ModuleNotFoundError, purpose: str) -> ImportError:
    """The error that names the extra where PyTorch is missing; else the same error."""
    if error.name != "torch":
        return error
    from millrace._src.core.optional import missing_extra_error

    return missing_extra_error(error, "train", purpose)


configure()
limit_openmp_spin()
install()
register_runtime(_load_arithmetic)
register_device_layer(_load_transfer)
