"""List the operators of an ONNX file without the onnx library."""

from __future__ import annotations

from typing import NamedTuple

from millrace._src.serve.protobuf_messages import ONNX, messages

__all__ = ["OnnxNode", "nodes_of"]


class OnnxNode(NamedTuple):
    """An operator with its integer attributes."""

    op_type: str
    ints: dict[str, list[int]]


def nodes_of(file: str | bytes) -> list[OnnxNode]:
    """The operators of a file in order; names from other domains than ONNX's are prefixed with the domain."""
    if isinstance(file, str):
        with open(file, "rb") as opened:
            file = opened.read()
    model = messages(ONNX)["ModelProto"].FromString(file)
    return [
        OnnxNode(
            f"{node.domain}:{node.op_type}" if node.domain not in ("", "ai.onnx") else node.op_type,
            {each.name: list(each.ints) or [each.i] for each in node.attribute},
        )
        for node in model.graph.node
    ]
