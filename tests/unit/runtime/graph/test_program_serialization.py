"""Programs in files: complete over what the exporter emits, and closed to everything else."""

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from millrace import Tensor, nn, ops  # noqa: E402
from millrace._src.core import limits  # noqa: E402
from millrace._src.core.errors import FormatError, OperationError  # noqa: E402
from millrace._src.runtime.graph import allowed_operators as operators  # noqa: E402
from millrace._src.runtime.graph import shape_rules, stored_sizes  # noqa: E402
from millrace._src.runtime.graph.operator_table import TABLE  # noqa: E402
from millrace._src.runtime.graph.program_serialization import SerializedProgram, store_program  # noqa: E402
from millrace._src.runtime.tensor.backend.torch_private import schema_text  # noqa: E402
from tests.unit.runtime.graph.emitted_programs import emitted_names, in_recording, layers, raw, samples, zoo  # noqa: E402

torch.set_num_threads(1)
ZOO = {emitter.name: emitter for emitter in zoo()}


def stored(emitter):
    """The program of something that computes, as a file holds it, and its constants."""
    inputs = [given._torch for given in emitter.inputs]
    described, tensors = in_recording(lambda: store_program(lambda: raw(emitter.call()), inputs, {}))
    return json.loads(json.dumps(described)), [tensor.clone() for tensor in tensors]


def bits(tensor):
    whole = tensor.detach().resolve_conj().resolve_neg().contiguous()
    return str(tensor.dtype), tuple(tensor.shape), whole.reshape(-1).view(torch.uint8).numpy().tobytes()


def program(calls, inputs=(((2, 3), "torch.float32"),), results=(("temp", 0),), names=(), **more):
    return {
        "version": 1,
        "calls": calls,
        "results": [list(slot) for slot in results],
        "single": len(results) == 1,
        "names": list(names),
        "inputs": [[list(shape), dtype] for shape, dtype in inputs],
        **more,
    }


def slot(kind, number):
    return {"slot": [kind, number]}


def call(name, *args, results=(("temp", 0),), form="one", **kwargs):
    given = [None if result is None else slot(*result) for result in results]
    return [f"aten::{name}", list(args), {"dict": kwargs}, given, form]


X = slot("in", 0)


# the table --------------------------------------------------------------------------------------------


def test_every_entry_is_an_overload_of_the_installed_pytorch_with_the_recorded_schema():
    resolved = operators.operators()
    assert [name for name in TABLE if name not in resolved] == []
    assert all(isinstance(func, torch._ops.OpOverload) for func in resolved.values())
    assert {name: schema_text(func).removeprefix(name) for name, func in resolved.items()} == TABLE


def test_no_entry_is_denied_and_all_of_them_return_tensors():
    assert [name for name in TABLE if operators.denial_reason(name)] == []
    for name in TABLE:
        operator = operators.resolve_operator(name)
        assert operator.form in ("one", "many", "none")
        assert not any(argument.type in ("Dimname", "Storage", "Stream") for argument in operator.arguments)


@pytest.mark.parametrize(
    "name",
    [
        "from_file", "set_.source_Storage", "set_.source_Storage_storage_offset", "resize_", "resize_as_", "as_strided",
        "as_strided_", "as_strided_copy", "as_strided_scatter", "_reshape_alias", "empty.memory_format", "empty_like",
        "empty_strided", "new_empty", "new_empty_strided", "empty_permuted", "data", "set_data", "_copy_from", "save",
        "record_stream", "rename", "_sparse_coo_tensor_unsafe", "_coalesced_", "to_sparse", "sparse_resize_", "indices",
        "_embedding_bag", "embedding_bag", "segment_reduce", "_unsafe_index.Tensor", "_unsafe_masked_index",
        "_unsafe_index_put", "_cudnn_rnn", "_foreach_add.List", "_fused_adam_", "quantize_per_tensor", "q_scale",
        "nonzero", "unique_dim", "masked_select", "_unique2", "bincount", "item", "_local_scalar_dense", "pin_memory",
        "_ctc_loss", "lu_unpack", "linalg_lu_solve", "fractional_max_pool2d", "_log_softmax_backward_data",
        "lift_fresh", "resize.out", "_resize_output_", "_efficientzerotensor", "_nested_view_from_buffer",
        "__init__", "__class__",
    ],
)  # fmt: skip
def test_operators_on_files_storages_strides_and_unchecked_memory_are_denied_and_refused(name):
    assert operators.denial_reason(f"aten::{name}")
    with pytest.raises(FormatError, match="not in the operator table"):
        operators.resolve_operator(f"aten::{name}")


@pytest.mark.parametrize("name", sorted(ZOO))
def test_each_network_of_the_zoo_gives_the_same_bits_from_its_program(name):
    emitter = ZOO[name]
    wanted = raw(emitter.call())
    described, tensors = stored(emitter)
    inputs = [given._torch for given in emitter.inputs]
    before = [bits(tensor) for tensor in (*inputs, *tensors)]
    graph = SerializedProgram(described, tensors)
    for _ in range(2):  # the first call compares shapes, the second does not
        results = graph(inputs)
        assert list(map(bits, results)) == [
            bits(t) for t in ([wanted] if graph.has_single_result else wanted)
        ]
    assert [bits(tensor) for tensor in (*inputs, *tensors)] == before


def test_layers_and_operations_emit_operators_of_the_table_or_denied_ones():
    for emitter in (*layers(), *samples(every=23)):
        names = emitted_names(emitter) or set()
        missing = [name for name in names if name not in TABLE and not operators.denial_reason(name)]
        assert missing == [], f"{emitter.name}: run `python -m tests.unit.runtime.graph.record_operators`"


def test_programs_of_layers_give_the_same_bits_twice_and_write_into_nothing_of_the_caller():
    for number, emitter in enumerate(layers()):
        if number % 7 or "RReLU" in emitter.name or "Dropout" in emitter.name:
            continue
        try:
            described, tensors = stored(emitter)
        except Exception:  # a case of wrong arguments, or a denied operator
            continue
        graph = SerializedProgram(described, tensors)
        inputs = [given._torch for given in emitter.inputs]
        before = [bits(tensor) for tensor in (*inputs, *tensors)]
        first, second = graph(inputs), graph(inputs)
        assert list(map(bits, first)) == list(map(bits, second)), emitter.name
        assert [bits(tensor) for tensor in (*inputs, *tensors)] == before, emitter.name


def test_rules_of_shapes_give_what_the_kernels_give(monkeypatch):
    """The first run of a program compares every result with its rule: it raises where they differ."""
    used = set()
    for name, rule in list(shape_rules.RULES.items()):

        def counted(*args, rule=rule, name=name, **kwargs):
            result = rule(*args, **kwargs)
            if result is not NotImplemented:
                used.add(name)
            return result

        monkeypatch.setitem(stored_sizes.RULES, name, counted)
    for number, emitter in enumerate((*layers(), *samples(every=11))):
        if number % 2:
            continue
        try:
            described, tensors = stored(emitter)
        except Exception:  # a sample of wrong arguments, or a denied operator
            continue
        try:
            graph = SerializedProgram(described, tensors)
        except FormatError as error:
            if "nonzero" not in str(error):  # an index by a mask: the size of its result depends on values
                raise
            continue
        graph([given._torch.clone() for given in emitter.inputs])
    assert len(used) > 40


# what a program may not do ----------------------------------------------------------------------------

BAD_NAMES = [
    "os::system", "aten::__class__", "aten::__init__.__globals__", "aten::add.__class__", "aten::add.__call__",
    "aten::add.default.__globals__", "aten::add..Tensor", "aten::add.Tensor.", "prim::Print", "prims::add",
    "aten::prim.Print", "quantized::add", "torchvision::nms", "aten::add.out", "aten::add", "ATEN::add.Tensor",
    "aten::\uff41\uff44\uff44.Tensor", "aten::add\u200b.Tensor", "aten::ADD.Tensor", "aten::add.Tensor\n",
    " aten::add.Tensor", "aten::mro", "aten::_dir", "aten::name", "aten::add.overloads", "aten::add.op",
    "aten::from_file", "aten::load_library", "", "aten::", "::", "add", 3, None, ["aten::add.Tensor"], {"a": 1}, 10**19,
    "aten::" + "a" * 100_000,
]  # fmt: skip


@pytest.mark.parametrize("name", BAD_NAMES, ids=lambda name: ascii(name)[:40])
def test_any_other_name_is_refused_before_a_call_runs(name):
    described = program([call("abs", X), [name, [X, X], {"dict": {}}, [slot("temp", 1)], "one"]])
    with pytest.raises(FormatError):
        SerializedProgram(described, [])


BAD_ARGUMENTS = {
    "too many": call("abs", X, X),
    "too few": call("abs"),
    "unknown name": call("abs", X, out=X),
    "passed twice": call("abs", X, self=X),
    "number for a tensor": call("abs", 3),
    "text for a tensor": call("abs", "x"),
    "none for a tensor": call("abs", None),
    "list for a tensor": call("abs", [X]),
    "not computed": call("abs", slot("temp", 7)),
    "its own result": call("abs", slot("temp", 0)),
    "no such input": call("abs", slot("in", 1)),
    "no such constant": call("abs", slot("out", 0)),
    "negative slot": call("abs", slot("in", -1)),
    "huge slot": call("abs", slot("in", 10**18)),
    "slot of another kind": call("abs", slot("globals", 0)),
    "slot with a truth value": call("abs", slot("in", False)),
    "slot with more": call("abs", {"slot": ["in", 0, 0]}),
    "two keys": call("abs", {"slot": ["in", 0], "float": "0x1p0"}),
    "float for a size": call("view", X, [{"float": "0x1.8p1"}, 2]),
    "nan for a size": call("view", X, [{"float": "nan"}]),
    "negative size": call("zeros", [-2, 3]),
    "huge size": call("zeros", [10**12]),
    "size of 64 bits": call("zeros", [2**63 - 1]),
    "size beyond 64 bits": call("zeros", [2**64]),
    "size of 19 digits": call("zeros", [10**19]),
    "product overflows": call("zeros", [2**40, 2**40]),
    "truth value for a size": call("view", X, [True, 6]),
    "text for a size": call("view", X, ["6"]),
    "wrong size": call("view", X, [7]),
    "repeat": call("repeat", X, [10**6, 10**6]),
    "expand": call("expand", X, [10**9, 2, 3]),
    "range": call("arange", 10**18),
    "range by a small step": call("arange.start_step", 0, 1, {"float": (1e-15).hex()}),
    "linspace": call("linspace", 0, 1, 10**11),
    "identity": call("eye", 10**9),
    "padding": call("constant_pad_nd", X, [10**12, 10**12]),
    "negative padding": call("constant_pad_nd", X, [-5, -5]),
    "axis": call("transpose.int", X, 0, 9),
    "other type of element": call("zeros", [2], dtype={"dtype": "torch.quint8"}),
    "no type of element": call("zeros", [2], dtype={"dtype": "torch.float32.__class__"}),
    "layout": call("zeros", [2], layout={"layout": "torch.sparse_coo"}),
    "device": call("zeros", [2], device={"device": "cuda"}),
    "device meta": call("zeros", [2], device={"device": "meta"}),
    "pinned": call("zeros", [2], pin_memory=True),
    "generator": call("rand.generator", [2], generator={"float": "0x0p0"}),
    "kind without meaning": call("zeros", [2], dtype={"class": "os"}),
    "index by a mask": call("index.Tensor", X, [slot("temp", 0)]),
    "results in another form": call("abs", X, form="many"),
    "no results": call("abs", X, results=()),
    "more results": call("abs", X, results=(("temp", 0), ("temp", 1))),
    "result is an input": call("abs", X, results=(("in", 0),)),
    "two results in one place": call("max.dim", X, 0, False, results=(("temp", 0), ("temp", 0)), form="many"),
    "scale": call(
        "upsample_nearest1d", slot("temp", 1), [6], {"float": (1e-30).hex()}, results=(("temp", 2),)
    ),
    "interpolation": call("grid_sampler_3d", X, X, 1000, 0, True),
    "reduction": call("smooth_l1_loss", X, X, 7, {"float": "0x1p0"}),
}


@pytest.mark.parametrize("name", BAD_ARGUMENTS)
def test_wrong_arguments_are_refused_before_a_call_runs(name):
    first = call("unsqueeze", X, 0, results=(("temp", 1),)) if name == "scale" else None
    mask = call("gt.Scalar", X, 0) if name == "index by a mask" else None
    calls = [each for each in (first, mask, BAD_ARGUMENTS[name]) if each]
    if mask:
        calls[1] = call("index.Tensor", X, [slot("temp", 0)], results=(("temp", 1),))
    with pytest.raises(FormatError):
        SerializedProgram(program(calls), [])


BAD_PROGRAMS = {
    "constants assigned": (program([call("abs", X, results=(("out", 0),))], names=["w"]), [torch.zeros(2)]),
    "assigned twice": (program([call("abs", X), call("neg", X)]), []),
    "returns nothing known": (program([call("abs", X)], results=(("temp", 3),)), []),
    "one of two results": ({**program([call("abs", X)]), "single": True, "results": []}, []),
    "rank": (program([call("abs", X)], inputs=[([1] * 70, "torch.float32")]), []),
    "free second length": (program([call("abs", X)], inputs=[((2, -1), "torch.float32")]), []),
    "type of an input": (program([call("abs", X)], inputs=[((2, 3), "torch.os")]), []),
    "attribute for a type": (program([call("abs", X)], inputs=[((2, 3), "torch.__class__")]), []),
    "huge input": (program([call("abs", X)], inputs=[((2**40, 2**20), "torch.float32")]), []),
    "fractional length": (program([call("abs", X)], inputs=[((2.5, 3), "torch.float32")]), []),
    "many calls": (program([call("abs", X)] * 200_001), []),
    "many inputs": (program([call("abs", X)], inputs=[((1,), "torch.float32")] * 300), []),
    "names": (program([call("abs", X)], names=[3]), [torch.zeros(1)]),
    "nested arguments": (program([call("cat", [[[[X]]]])]), []),
    "names of inputs": (program([call("abs", X)], input_names=["a", "b"]), []),
    "version": ({**program([call("abs", X)]), "version": True}, []),
    "a list": ([], []),
    "nothing": ({}, []),
    "short call": (program([["aten::abs", [X]]]), []),
    "calls": (program({"a": 1}), []),
    "rows are fixed": (program([call("zeros", [{"rows": [10**12, 0]}])]), []),
    "rows": (
        program([call("zeros", [{"rows": [10**11, 0]}])], inputs=[((-1, 3), "torch.float32")]),
        [],
    ),
}


@pytest.mark.parametrize("name", BAD_PROGRAMS)
def test_wrong_programs_are_refused(name):
    described, tensors = BAD_PROGRAMS[name]
    if name == "rows are fixed":  # without free rows their number is 0
        assert SerializedProgram(described, tensors)([torch.zeros(2, 3)])[0].shape == (0,)
        return
    with pytest.raises(FormatError):
        SerializedProgram(described, tensors)


def norm(channels, **changed):
    shapes = {name: [channels] for name in ("weight", "bias", "mean", "var")} | changed
    constants = [torch.ones(shape) for shape in shapes.values()]
    arguments = [slot("out", place) for place in range(4)]
    numbers = [{"float": (0.1).hex()}, {"float": (1e-5).hex()}]
    outputs = (("temp", 0), ("temp", 1), ("temp", 2))
    return (
        program(
            [call("native_batch_norm", X, *arguments, False, *numbers, results=outputs, form="many")],
            inputs=[((2, channels, 4), "torch.float32")],
            names=["w", "b", "m", "v"],
        ),
        constants,
    )


def test_kernels_that_trust_their_callers_get_shapes_that_fit():
    described, tensors = norm(3)
    SerializedProgram(described, tensors)([torch.ones(2, 3, 4)])
    for name in ("weight", "bias", "mean", "var"):
        for shape in ([1], [2], [], [3, 1], [0]):
            with pytest.raises(FormatError):
                SerializedProgram(*norm(3, **{name: shape}))


@pytest.mark.parametrize("heads", [(1, 2, 2), (2, 1, 2), (2, 2, 1)])
def test_attention_with_heads_that_differ_is_refused(heads):
    """The kernel divides by zero, which ends the process."""
    inputs = [((2, count, 5, 4), "torch.float32") for count in heads]
    attention = call(
        "_scaled_dot_product_flash_attention_for_cpu", *(slot("in", place) for place in range(3)),
        results=(("temp", 0), ("temp", 1)), form="many",
    )  # fmt: skip
    with pytest.raises(FormatError, match="do not fit"):
        SerializedProgram(program([attention], inputs=inputs), [])


def test_a_transform_with_a_longer_signal_than_its_input_is_refused():
    inputs = [((4,), "torch.complex64")]
    for length in (5, 100, 0, -1, 8):
        with pytest.raises(FormatError):
            SerializedProgram(program([call("_fft_c2r", X, [0], 0, length)], inputs=inputs), [])
    SerializedProgram(program([call("_fft_c2r", X, [0], 0, 6)], inputs=inputs), [])


def test_indices_out_of_range_are_an_error_of_the_call():
    for name in ("embedding", "index_select", "gather", "index.Tensor"):
        table, index = slot("out", 0), X
        arguments = {
            "embedding": [table, index],
            "index_select": [table, 0, index],
            "gather": [table, 0, {"slot": ["temp", 1]}],
            "index.Tensor": [table, [index]],
        }[name]
        first = [call("view", X, [2, 1], results=(("temp", 1),))] if name == "gather" else []
        described = program([*first, call(name, *arguments)], inputs=[((2,), "torch.int64")], names=["table"])
        graph = SerializedProgram(described, [torch.zeros(4, 3)])
        for wrong in (4, 10**12, -5, -(10**12)):
            with pytest.raises((IndexError, RuntimeError)):
                graph([torch.tensor([0, wrong])])
        graph([torch.tensor([0, 3])])


# memory -----------------------------------------------------------------------------------------------


def test_results_are_bounded_one_by_one_and_together(monkeypatch):
    doubled = [call("cat", [X, X], results=(("temp", 0),))]
    doubled += [
        call("cat", [slot("temp", n), slot("temp", n)], results=(("temp", n + 1),)) for n in range(40)
    ]
    with pytest.raises(FormatError, match="bytes, more than"):
        SerializedProgram(program(doubled, results=(("temp", 40),)), [])
    kept = [call("zeros", [1 << 20], results=(("temp", n),)) for n in range(10)]
    alive = program(kept, results=[("temp", n) for n in range(10)])
    SerializedProgram(alive, [])
    monkeypatch.setattr(limits, "ARCHIVE", limits.ArchiveLimits(live_bytes=16 << 20))
    with pytest.raises(FormatError, match="at one time"):
        SerializedProgram(alive, [])
    SerializedProgram(program(kept, results=[("temp", 9)]), [])  # those that nobody reads are freed


def test_each_number_of_rows_is_checked_before_it_runs(monkeypatch):
    """Sizes that are small for one and two rows and large between are found when these rows come."""
    product = [
        call("zeros", [{"rows": [1, 0]}, {"rows": [-1000, 1_000_000]}]),
        call("sum", slot("temp", 0), results=(("temp", 1),)),
    ]
    described = program(product, inputs=[((-1, 3), "torch.float32")], results=(("temp", 1),))
    monkeypatch.setattr(limits, "ARCHIVE", limits.ArchiveLimits(result_bytes=64 << 20, rows=1000))
    graph = SerializedProgram(described, [])
    assert graph([torch.zeros(2, 3)])[0].item() == 0
    with pytest.raises(FormatError, match="more than"):
        graph([torch.zeros(500, 3)])
    with pytest.raises(FormatError, match="at most 1000 rows"):
        graph([torch.zeros(1001, 3)])
    assert graph([torch.zeros(2, 3)])[0].item() == 0


def test_sizes_of_rows_are_computed_once(monkeypatch):
    from millrace._src.runtime.graph import program_serialization as stored

    counted = []
    monkeypatch.setattr(
        stored,
        "measure_program",
        lambda graph, rows: counted.append(rows) or stored_sizes.measure_program(graph, rows),
    )
    graph = SerializedProgram(program([call("abs", X)], inputs=[((-1, 3), "torch.float32")]), [])
    for _ in range(3):
        for rows in (1, 5, 9):
            graph([torch.zeros(rows, 3)])
    assert counted == [1, 2, 5, 9]


def test_inputs_of_other_shapes_or_types_do_not_run():
    graph = SerializedProgram(program([call("abs", X)]), [])
    for wrong in (
        [torch.zeros(2, 4)],
        [torch.zeros(2, 3).double()],
        [],
        [torch.zeros(2, 3)] * 2,
        [torch.zeros(6)],
    ):
        with pytest.raises(ValueError, match="expected inputs"):
            graph(wrong)


def test_in_place_operators_change_neither_constants_nor_inputs():
    constant = slot("out", 0)
    calls = [
        call("view", constant, [3, 2], results=(("temp", 0),)),
        call("mul_.Tensor", slot("temp", 0), 2, results=(("temp", 0),)),  # through a view
        call("add_.Tensor", X, constant, results=(("in", 0),)),
        call("transpose_", constant, 0, 1, results=(("out", 0),)),
        call("mm", X, constant, results=(("temp", 1),)),
    ]
    table = torch.arange(6.0).reshape(2, 3)
    graph = SerializedProgram(program(calls, results=[("temp", 1), ("out", 0)], names=["w"]), [table])
    given = torch.ones(2, 3)
    first = [tensor.clone() for tensor in graph([given])]
    second = graph([given])
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
    assert torch.equal(given, torch.ones(2, 3))
    assert torch.equal(table, torch.arange(6.0).reshape(2, 3))
    second[1].zero_()
    assert torch.equal(table, torch.arange(6.0).reshape(2, 3))
    want = (torch.ones(2, 3) + table * 2) @ (table * 2).T
    assert torch.equal(first[0], want)


# archives of version 0.2.0 ------------------------------------------------------------------------------


def test_unused_uninitialised_results_of_version_0_2_0_do_not_run_and_used_ones_are_refused():
    empty = call("empty.memory_format", [0], device={"device": "cpu"}, results=(("temp", 1),))
    graph = SerializedProgram(program([empty, call("abs", X)]), [])
    assert [step.operator.name for step in graph.calls] == ["aten::abs"]
    for used in (call("abs", slot("temp", 1)), None):
        described = program([empty, *([used] if used else [])], results=[("temp", 0 if used else 1)])
        with pytest.raises(FormatError) as failed:
            SerializedProgram(described, [])
        assert not used or "0.2.0" in str(failed.value)


def test_the_exporter_writes_zeros_for_uninitialised_memory():
    class Empties(nn.Cell):
        def construct(self, x):
            made = torch.empty_like(x._torch)
            made.copy_(x._torch)
            return Tensor(made)

    from millrace._src.train.export.archive import capture_forward

    described, tensors = capture_forward(Empties(), [Tensor(np.ones((2, 3), np.float32))])
    assert [each[0] for each in described["calls"]] == ["aten::zeros_like", "aten::copy_"]
    assert torch.equal(SerializedProgram(described, tensors)([torch.ones(2, 3)])[0], torch.ones(2, 3))


def test_a_network_with_a_denied_operator_is_refused_by_export_with_the_reason(tmp_path):
    class Counts(nn.Cell):
        def construct(self, x):
            return ops.bincount(x)

    from millrace import export

    with pytest.raises(OperationError, match=r"cannot call aten::bincount .*depends on values"):
        export(Counts(), Tensor(np.array([1, 2])), file_name=str(tmp_path / "net"), file_format="MINDIR")
