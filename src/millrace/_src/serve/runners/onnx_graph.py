"""Which operations an ONNX file holds, read without the library that writes such files."""

from __future__ import annotations

from typing import NamedTuple

from millrace._src.serve.protobuf_messages import ONNX, messages

__all__ = ["OnnxNode", "nodes_of"]


class OnnxNode(NamedTuple):
    """An operation, and those of its attributes that are whole numbers or lists of them."""

    op_type: str
    ints: dict[str, list[int]]


def nodes_of(file: str | bytes) -> list[OnnxNode]:
    """The operations of a file, in its order; one of another domain than ONNX's own has that before its name."""
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
