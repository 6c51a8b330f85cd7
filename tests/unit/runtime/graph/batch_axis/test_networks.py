"""The batch axis through a stored program: networks whose rows are independent, and operators that mix rows."""

import json

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

import millrace as ms
from millrace import Tensor, export, nn, ops
from millrace._src.runtime.graph.batch_axis import find_mixing, find_training
from millrace._src.runtime.graph.batch_axis.rule_table import ELEMENTWISE, RULES
from millrace._src.runtime.graph.program_serialization import (
    SerializedProgram,
    generalize_rows,
    store_program,
)
from millrace._src.train.export.archive import capture_forward
from tests.e2e.networks.families import nets
from tests.e2e.networks.families.language import block
from tests.e2e.networks.resnet import resnet18
from tests.unit.runtime.graph.batch_axis_networks import Function, RunningTotal


def graph_of(cell, *shape, dtype=ms.float32):
    """The stored program of a network for any number of rows."""
    cell.set_train(False)
    described, tensors = capture_forward(cell, [Tensor(shape=[None, *shape], dtype=dtype)])
    return SerializedProgram(json.loads(json.dumps(described)), tensors)


def torch_graph(function, *shape):
    """The stored program of a function of PyTorch."""
    programs = []
    for rows in (5, 7, 11):
        x = torch.zeros(rows, *shape)
        programs.append((rows, *store_program(lambda x=x: function(x), [x], {})))
    described = generalize_rows([(rows, program) for rows, program, _ in programs])
    return SerializedProgram(json.loads(json.dumps(described)), programs[0][2])


# --- networks that are batched -----------------------------------------------------------------------------------


class First(nn.Cell):
    """The first result of a layer."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def construct(self, x):
        return self.layer(x)[0]


class SelfAttention(nn.Cell):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def construct(self, x):
        return self.attention(x, x, x)[0]


class Bert(nn.Cell):
    """Token numbers to a class: embedding, position, two blocks, mean over time."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(20, 16)
        self.position = ms.Parameter(Tensor(np.zeros((6, 16), np.float32)), name="position")
        self.blocks = nn.SequentialCell([block(ms, 16, 2, False, False) for _ in range(2)])
        self.head = nn.Dense(16, 2)

    def construct(self, tokens):
        return self.head(self.blocks(self.words(tokens) + self.position).mean(1))


class Vit(nn.Cell):
    def __init__(self):
        super().__init__()
        self.patch = nn.Conv2d(3, 16, 4, 4, pad_mode="valid", has_bias=True)
        self.token = ms.Parameter(Tensor(np.zeros((1, 1, 16), np.float32)), name="token")
        self.blocks = nn.SequentialCell([block(ms, 16, 2, False, True) for _ in range(2)])
        self.head = nn.Dense(16, 4)

    def construct(self, x):
        rows = x.shape[0]
        patches = self.patch(x).reshape(rows, 16, 4).transpose(0, 2, 1)
        token = ops.broadcast_to(self.token, (rows, 1, 16))
        return self.head(self.blocks(ops.concat((token, patches), 1))[:, 0])


class Gpt(nn.Cell):
    def __init__(self):
        super().__init__()
        self.words, self.place = nn.Embedding(20, 16), nn.Embedding(6, 16)
        self.blocks = nn.SequentialCell([block(ms, 16, 4, True, True) for _ in range(2)])

    def construct(self, tokens):
        return self.blocks(self.words(tokens) + self.place(Tensor(np.arange(6, dtype=np.int32))))


def mlp():
    return nn.SequentialCell([nn.Dense(6, 8), nn.ReLU(), nn.Dense(8, 3), nn.Softmax()])


def encoder(cell):
    return lambda: First(cell(6, 4, num_layers=2, bidirectional=True, batch_first=True))


def backbone(name):
    return lambda: nets()[name].build(ms)._backbone


BATCHED = {
    "MLP": (mlp, (6,)),
    "LeNet": (backbone("LeNet"), (1, 32, 32)),
    "ResNet-18": (lambda: resnet18(ms, 5, width=8, small=True), (3, 16, 16)),
    "ResNet-50": (backbone("ResNet-50"), (3, 32, 32)),
    "VGG": (backbone("VGG"), (3, 16, 16)),
    "MobileNetV3": (backbone("MobileNetV3"), (3, 16, 16)),
    "UNet": (backbone("UNet"), nets()["UNet"].batch[0].shape[1:]),
    "BERT tiny": (Bert, (6,), ms.int32),
    "GPT": (Gpt, (6,), ms.int32),
    "ViT": (Vit, (3, 8, 8)),
    "LSTM classifier": (backbone("LSTM classifier"), (6,), ms.int32),
    "LSTM": (encoder(nn.LSTM), (5, 6)),
    "GRU": (encoder(nn.GRU), (5, 6)),
    "RNN": (encoder(nn.RNN), (5, 6)),
    "MultiheadAttention": (SelfAttention, (3, 8)),
    "TransformerEncoderLayer": (lambda: nn.TransformerEncoderLayer(8, 2, 8, batch_first=True), (3, 8)),
    "InstanceNorm": (lambda: nn.InstanceNorm2d(2), (2, 3, 3)),
    "GroupNorm": (lambda: nn.GroupNorm(2, 4), (4, 3, 3)),
    "Conv2dTranspose": (lambda: nn.Conv2dTranspose(2, 3, 3), (2, 5, 5)),
}


def rows_alike(graph, shape, dtype, rows=4):
    """Whether other values in one row leave the bits of the other rows as they are."""
    generator = torch.Generator().manual_seed(3)

    def draw(count):
        if dtype == ms.int32:
            return torch.randint(0, 20, (count, *shape), generator=generator, dtype=torch.int32)
        return torch.randn((count, *shape), generator=generator)

    x = draw(rows)
    before = graph([x.clone()])
    for row in range(rows):
        other = x.clone()
        other[row] = draw(1)[0]
        for old, new in zip(before, graph([other]), strict=True):
            kept = [each for each in range(rows) if each != row]
            if not torch.equal(old[kept], new[kept]):
                return False
    return True


@pytest.mark.parametrize("name", BATCHED)
def test_networks_of_the_zoo_are_row_independent(name):
    build, shape, *dtype = BATCHED[name]
    dtype = dtype[0] if dtype else ms.float32
    graph = graph_of(build(), *shape, dtype=dtype)
    assert find_mixing(graph) is None
    assert rows_alike(graph, shape, dtype)


# --- what mixes rows ---------------------------------------------------------------------------------------------


def set_first_row(x):
    y = x.relu()
    y[0] = x[-1]
    return y


def accumulate(x):
    total = torch.zeros(4)
    total += x.sum(0)
    return x + total


def write_through_view(x):
    base = torch.zeros(4, 2)
    part = base[0]
    part.copy_(x.sum(0)[:2])
    return x + base[0, 0]


MIXED = {
    "mean over rows": (lambda x: x - x.mean(0), "aten::mean.dim: it reduces over the batch axis"),
    "sum of all": (lambda x: x + x.sum(), "aten::sum: it reduces over all axes"),
    "global max": (lambda x: x / x.max(), "aten::max: it reduces over all axes"),
    "argmax of rows": (lambda x: x + x.argmax(0), "aten::argmax: it reduces over the batch axis"),
    "variance": (lambda x: x / x.var(0), "it reduces over the batch axis"),
    "norm": (lambda x: x / torch.linalg.vector_norm(x), "it reduces over all axes"),
    "softmax over rows": (
        lambda x: torch.softmax(x, 0),
        "aten::_softmax: it normalises along the batch axis",
    ),
    "log_softmax": (lambda x: torch.log_softmax(x, 0), "it normalises along the batch axis"),
    "cumsum": (lambda x: torch.cumsum(x, 0), "aten::cumsum: it sums along the batch axis"),
    "cumsum, negative": (lambda x: torch.cumsum(x, -2), "aten::cumsum: it sums along the batch axis"),
    "cummax": (lambda x: torch.cummax(x, 0)[0], "it compares along the batch axis"),
    "sort": (lambda x: torch.sort(x, 0)[0], "it sorts along the batch axis"),
    "flip": (lambda x: x.flip(0), "aten::flip: it reverses the order of the rows"),
    "flip, negative": (lambda x: x.flip(-2), "aten::flip: it reverses the order of the rows"),
    "roll": (lambda x: x.roll(1, 0), "aten::roll: it moves rows"),
    "roll of all": (lambda x: x.roll(1), "along the batch axis"),
    "x @ x.T": (lambda x: (x @ x.T) @ x, "aten::mm: it multiplies different rows with each other"),
    "x.T @ x": (lambda x: x @ (x.T @ x), "aten::mm: it sums over the batch axis"),
    "pairs": (lambda x: (x[:, None] - x[None]).sum(1), "the batch axes of its operands are not aligned"),
    "bmm of pairs": (lambda x: x @ x[None].transpose(1, 2).expand(1, 4, x.shape[0]).sum(2).T, "batch axis"),
    "split across rows": (
        lambda x: x.reshape(4, -1).T,
        "aten::view: elements of several rows get into one row",
    ),
    "merged": (lambda x: x.reshape(-1).view(2, -1).sum(0)[:, None], "elements of several rows"),
    "transposed reshape": (lambda x: x.T.reshape(-1, 4), "elements of several rows"),
    "rows by number": (
        lambda x: x[torch.tensor([0, 0])],
        "aten::index.Tensor: it selects along the batch axis",
    ),
    "index_select": (lambda x: x.index_select(0, torch.tensor([1])), "it selects along the batch axis"),
    "rows by value": (lambda x: x[x.argmax(1)], "it looks rows up by values of the inputs"),
    "gather": (lambda x: x.gather(0, (x > 0).long()), "it looks rows up by values of the inputs"),
    "first row": (lambda x: x + x[0], "aten::select.int: it selects along the batch axis"),
    "all but one": (lambda x: x[1:], "aten::slice.Tensor: it selects along the batch axis"),
    "every second": (lambda x: x[::2], "selects along the batch axis"),
    "joined": (lambda x: torch.cat((x, x)), "aten::cat: it joins tensors along the batch axis"),
    "padded": (lambda x: torch.nn.functional.pad(x, (0, 0, 1, 1)), "it pads the batch axis"),
    "numbered": (lambda x: x + torch.arange(x.shape[0])[:, None], "it numbers the rows"),
    "eye": (lambda x: torch.eye(x.shape[0]) @ x, "it numbers the rows"),
    "by the number of rows": (lambda x: torch.pow(x, x.shape[0]), "is the number of rows"),
    "triangle": (lambda x: x.tril(), "aten::tril: it selects along the batch axis"),
    "first row written": (set_first_row, "it selects along the batch axis"),
    "total": (accumulate, "it reduces over the batch axis"),
    "written through a view": (write_through_view, "it reduces over the batch axis"),
    "convolution over rows": (
        lambda x: torch.conv1d(x.T[None], torch.ones(4, 4, 3), padding=1)[0].T,
        "aten::convolution: it sums over the batch axis",
    ),
    "pooling over rows": (
        lambda x: torch.nn.functional.avg_pool2d(x[None, None], 3, 1, 1)[0, 0],
        "aten::avg_pool2d: it pools along the batch axis",
    ),
    "layer norm over rows": (
        lambda x: torch.layer_norm(x.T.contiguous(), [x.shape[0]]).T,
        "the number of rows",
    ),
    "attention over rows": (
        lambda x: torch.nn.functional.scaled_dot_product_attention(
            x[None, None], x[None, None], x[None, None]
        )[0, 0],
        "it attends over the batch axis",
    ),
    "random": (lambda x: x + torch.rand(4), "aten::rand: it is random"),
    "noise": (lambda x: x + torch.randn_like(x), "it is random"),
    "no rule": (
        lambda x: torch.linalg.inv_ex(x[:, :4, None] @ x[:, None])[0][:, 0],
        "there is no rule for it",
    ),
    "twice": (lambda x: x.repeat(2, 1), "result 0: its batch axis is not axis 0 with one row per row"),
    "transposed": (lambda x: x.T.exp(), "result 0: its batch axis is not axis 0"),
    "constant": (lambda x: torch.ones(3), "result 0: it has no batch axis"),
}


@pytest.mark.parametrize("name", MIXED)
def test_an_operator_that_mixes_or_moves_rows_is_named(name):
    function, message = MIXED[name]
    mixing = find_mixing(torch_graph(function, 4))
    assert mixing is not None
    assert message in str(mixing)


KEPT = {
    "softmax": lambda x: torch.softmax(x, -1),
    "sort": lambda x: torch.sort(x, 1)[0],
    "flip": lambda x: x.flip(1),
    "row products": lambda x: x.view(-1, 2, 2) @ x.view(-1, 2, 2).transpose(1, 2),
    "time-major": lambda x: (
        x.view(-1, 2, 2).transpose(0, 1).reshape(-1, 2).exp().view(2, -1, 2).transpose(0, 1)
    ),
    "one hot": lambda x: torch.zeros_like(x).scatter(1, x.argmax(1, keepdim=True), torch.ones_like(x)),
    "rows picked": lambda x: x.gather(1, x.argmax(1, keepdim=True)),
    "table": lambda x: torch.ones(9, 2)[(x > 0).long()],
    "zeros": lambda x: torch.cat((x, torch.zeros(x.shape[0], 2)), 1),
    "same length": lambda x: x[: x.shape[0]],
    "in place": lambda x: x.exp().add_(x).relu_(),
    "column written": lambda x: (y := x.exp(), y[:, 0].fill_(1.0), y)[2],
    "transposed in place": lambda x: x.exp().transpose_(0, 1).exp().T,
    "repeated columns": lambda x: x.repeat(1, 2),
    "attention": lambda x: torch.nn.functional.scaled_dot_product_attention(
        *[x.view(-1, 1, 2, 2)] * 3
    ).flatten(1),
}


@pytest.mark.parametrize("name", KEPT)
def test_what_keeps_rows_apart_is_accepted(name):
    graph = torch_graph(KEPT[name], 4)
    assert find_mixing(graph) is None
    assert rows_alike(graph, (4,), ms.float32)


def test_the_parameter_next_to_the_operator_is_named():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.dense = nn.Dense(4, 4)

        def construct(self, x):
            x = self.dense(x)
            return x - x.mean(0)

    assert str(find_mixing(graph_of(Net(), 4))).startswith("aten::mean.dim (in or after 'dense.bias'): ")


# --- training mode -----------------------------------------------------------------------------------------------


TRAINING = {
    "BatchNorm": (lambda: nn.BatchNorm1d(4, use_batch_statistics=True), "aten::native_batch_norm ('gamma')"),
    "dropout": (lambda: Function(lambda x: ops.dropout(x, 0.5, training=True)), "aten::bernoulli_.float"),
    "state": (RunningTotal, "aten::copy_ ('total') writes to a tensor of the network"),
}


@pytest.mark.parametrize("name", TRAINING)
def test_a_network_that_trains_is_neither_exported_nor_analysed(name, tmp_path):
    build, message = TRAINING[name]
    graph = graph_of(build(), 4)
    assert message in find_training(graph)
    assert message in str(find_mixing(graph))
    with pytest.raises(RuntimeError, match="expected a network in evaluation mode") as failed:
        export(
            build(),
            Tensor(shape=[None, 4], dtype=ms.float32),
            file_name=str(tmp_path / "net"),
            file_format="MINDIR",
        )
    assert message in str(failed.value)


def test_a_parameter_written_through_a_view_is_found():
    weight = torch.zeros(4, 2)

    def function(x):
        weight.t()[0].copy_(x.sum(0))
        return x

    assert "writes to a tensor of the network" in find_training(torch_graph(function, 4))


def test_a_constant_that_follows_from_the_rows_is_refused(tmp_path):
    net = Function(lambda x: x * float(x.shape[0]))
    with pytest.raises(RuntimeError, match="constants that do not depend on the number of rows"):
        export(
            net,
            Tensor(shape=[None, 4], dtype=ms.float32),
            file_name=str(tmp_path / "net"),
            file_format="MINDIR",
        )


# --- the table ---------------------------------------------------------------------------------------------------


def test_elementwise_operators_are_pointwise_for_pytorch_too():
    # pointwise by their documentation, without the tag
    untagged = {
        "copy", "fill", "floor_divide", "hardswish", "leaky_relu", "log_sigmoid_forward", "special_ndtr", "zero",
        "_prelu_kernel",
    }  # fmt: skip
    for name in set(ELEMENTWISE) - untagged:
        packet = getattr(torch.ops.aten, name)
        tags = [getattr(packet, overload).tags for overload in packet.overloads()]
        assert any(torch.Tag.pointwise in each for each in tags), name
        assert not any(torch.Tag.nondeterministic_seeded in each for each in tags), name


def test_the_table_holds_no_random_operator_and_nothing_that_pytorch_has_not():
    newer = {"_fused_rms_norm"}
    for name in RULES:
        if name in newer and not hasattr(torch.ops.aten, name):
            continue
        packet = getattr(torch.ops.aten, name)
        if name == "native_dropout" or name.startswith("_scaled_dot_product"):
            continue  # random in training mode only, which their rules refuse
        for overload in packet.overloads():
            assert torch.Tag.nondeterministic_seeded not in getattr(packet, overload).tags, (name, overload)
