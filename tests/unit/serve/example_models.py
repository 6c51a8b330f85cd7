"""Small models in files, and a server that has them all."""

from __future__ import annotations

import numpy as np

from millrace import Tensor, export, float32, int32, nn
from millrace.serve import Config, Servable


class Pair(nn.Cell):
    """Two inputs, two outputs: the sum of the rows, times a number that tells versions apart, and the difference."""

    def __init__(self, times=1.0):
        super().__init__()
        self.times = times

    def construct(self, left, right):
        return (left + right) * self.times, left - right


class Picky(nn.Cell):
    """It looks up words, and a word that is not there is an error of the model's."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(10, 2, embedding_table="ones")

    def construct(self, words):
        return self.table(words).sum(1)


def any_rows(*shape, dtype=float32):
    return Tensor(shape=[None, *shape], dtype=dtype)


def dense():
    net = nn.Dense(4, 3, has_bias=False)
    net.weight.set_data(Tensor(np.arange(12, dtype=np.float32).reshape(3, 4)))
    return net


def write(folder):
    """Files of models in a folder; what a server is told of them."""
    for number in (1, 2):
        (folder / "pair" / str(number)).mkdir(parents=True)
        pair = Servable(
            Pair(float(number)), inputs=[any_rows(3), any_rows(3)], outputs=["total", "difference"]
        )
        pair.save(str(folder / "pair" / str(number) / "model.mindir"))
    export(dense(), any_rows(4), file_name=str(folder / "dense"), file_format="MINDIR")
    export(dense(), any_rows(4), file_name=str(folder / "dense"), file_format="ONNX")
    export(nn.ReLU(), Tensor([[1.0, -1.0]]), file_name=str(folder / "fixed"), file_format="MINDIR")
    export(Picky(), any_rows(2, dtype=int32), file_name=str(folder / "picky"), file_format="MINDIR")
    _write_free(str(folder / "free.onnx"))
    return {
        "pair": str(folder / "pair"),
        "dense": str(folder / "dense.mindir"),
        "onnx": str(folder / "dense.onnx"),
        "fixed": str(folder / "fixed.mindir"),
        "picky": str(folder / "picky.mindir"),
        "free": str(folder / "free.onnx"),
    }


def _write_free(path):
    """Somebody else's file, with an input of which both lengths are left open; ours leave open the first alone."""
    from onnx import TensorProto, helper, save

    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", "m"]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "free", [x], [y])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def config(models, **more):
    return Config(models, port=0, **{"threads": 1, **more})
