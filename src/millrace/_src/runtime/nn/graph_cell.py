"""``GraphCell``: a network loaded from an archive, as a Cell."""

from __future__ import annotations

from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.graph.program_serialization import SerializedProgram
from millrace._src.runtime.tensor.parameter import Parameter
from millrace._src.runtime.tensor.storage import wrap

from .cell import Cell

__all__ = ["GraphCell"]


@public("nn")
class GraphCell(Cell):
    """A network from ``millrace.load``: called with inputs of the exported shapes, it returns the network's
    results.

    `params_init` are values for its parameters, by name. It runs inference and does not train.

    >>> from millrace import Tensor, export, load, nn
    >>> net = nn.Dense(2, 1, weight_init="ones", has_bias=False)
    >>> export(net, Tensor([[1.0, 2.0]]), file_name="net", file_format="MINDIR")
    >>> nn.GraphCell(load("net.mindir"))(Tensor([[1.0, 2.0]])).item()
    3.0
    """

    def __init__(
        self, graph: Any, params_init: dict[str, Any] | None = None, obf_random_seed: int | None = None
    ) -> None:
        super().__init__(auto_prefix=True)
        if not isinstance(graph, SerializedProgram):
            raise ArgumentTypeError(
                "For 'GraphCell', the argument 'graph' must be a graph loaded by millrace.load, but got type "
                f"{type(graph)}."
            )
        self.graph = graph
        for name, data in zip(graph.names, graph.tensors, strict=True):
            if name is not None and name not in self._params:
                parameter = Parameter(wrap(data), name=name, requires_grad=False)
                parameter._torch = data
                self._params[name] = parameter
        for name, value in (params_init or {}).items():
            if name not in self._params:
                raise ArgumentValueError(
                    f"For 'GraphCell', the key '{name}' of 'params_init' is no parameter of the graph; there are "
                    f"{', '.join(self._params)}."
                )
            self._params[name].set_data(value)

    def construct(self, *inputs: Any) -> Any:
        tensors = [tensor._torch for tensor in inputs if isinstance(tensor, Tensor)]
        specs = [(tuple(tensor.shape), str(tensor.dtype)) for tensor in tensors]
        if not self.graph.accepts_inputs(specs):
            raise ArgumentValueError(
                f"For 'GraphCell', the inputs must have the shapes and dtypes that the network was exported with, "
                f"{self.graph.inputs}, but got {specs}."
            )
        outputs = [wrap(tensor) for tensor in self.graph(tensors)]
        return outputs[0] if self.graph.has_single_result else tuple(outputs)
