"""Convert PyTorch weights to parameters and back, with a table of the mapping."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, CheckpointError
from millrace._src.core.public import public
from millrace._src.runtime.nn.cell import Cell
from millrace._src.runtime.tensor.parameter import Parameter

from .checkpoint_path import resolve_load_path
from .inspection import CheckpointItem, classify_items
from .load import create_parameter, read_checkpoint
from .save import save_checkpoint
from .torch_weights import ENDINGS, parameter_role, read_torch, to_millrace, to_torch

__all__ = ["Conversion", "NameMapping", "convert_checkpoint", "load_torch"]


class NameMapping(NamedTuple):
    """Mapping of one value: source name, shape, target name ("" if unmatched), and the reason."""

    source: str
    shape: tuple[int, ...]
    target: str
    why: str


class Conversion(NamedTuple):
    """Result of a conversion; printing it shows the mapping table.

    ``values`` are the parameters by their new names, ``moves`` the mappings, ``missing`` the parameters of the network
    without a value.
    """

    values: dict[str, Any]
    moves: list[NameMapping]
    missing: list[str]

    @property
    def unused(self) -> list[str]:
        """Unmatched names of the source."""
        return [move.source for move in self.moves if not move.target]

    def rows(self) -> list[tuple[str, str, str, str]]:
        """Rows of the table: source, shape, target, reason."""
        rows = [(move.source, _format_shape(move.shape), move.target or "-", move.why) for move in self.moves]
        return rows + [("-", "", name, "nothing in the source fits") for name in self.missing]

    def __str__(self) -> str:
        rows = [("source", "shape", "target", ""), *self.rows()]
        widths = [max(len(row[n]) for row in rows) for n in range(3)]
        lines = ["  ".join([*(row[n].ljust(widths[n]) for n in range(3)), row[3]]).rstrip() for row in rows]
        moved = sum(1 for move in self.moves if move.target)
        end = f"{moved} moved, {len(self.unused)} of the source unused, {len(self.missing)} of the network missing"
        return "\n".join([*lines, end])


def _format_shape(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape)) or "one number"


@public("train", "millrace")
def convert_checkpoint(
    source: str,
    target: str | None = None,
    net: Cell | None = None,
    name_map: Mapping[str, str] | None = None,
    rules: Mapping[str, str] | None = None,
    by: Literal["name", "order"] = "name",
    to: Literal["millrace", "torch"] = "millrace",
) -> Conversion:
    """Convert PyTorch weights (``.pth``, ``.pt``, ``.safetensors``) to parameters, or a checkpoint to PyTorch's names.

    Names are mapped by rule: ``weight`` and ``bias`` of normalization layers become ``gamma`` and ``beta``, running
    means ``moving_mean``, embedding tables ``embedding_table``. `name_map` maps single names and takes precedence;
    `rules` are regular expressions with replacements. With a `net` its parameter names decide, and shapes are checked;
    `by` "order" matches layers by order, independent of names. `target` is the file to write; ``to="torch"`` maps names
    in the other direction and omits optimizer states.

    >>> import torch
    >>> from millrace import nn
    >>> torch.save({"module.weight": torch.ones(1, 2), "module.bias": torch.zeros(1)}, "linear.pth")
    >>> done = convert_checkpoint("linear.pth", "linear.ckpt", net=nn.Dense(2, 1))
    >>> print(done)
    source         shape  target
    module.weight  1x2    weight  without 'module.'
    module.bias    1      bias    without 'module.'
    2 moved, 0 of the source unused, 0 of the network missing
    """
    if by not in ("name", "order") or to not in ("millrace", "torch"):
        raise ArgumentValueError(
            f"For 'convert_checkpoint', 'by' is 'name' or 'order' and 'to' is 'millrace' or 'torch', but got {by!r} "
            f"and {to!r}."
        )
    if net is not None and not isinstance(net, Cell):
        raise ArgumentTypeError(
            f"For 'convert_checkpoint', 'net' must be a Cell, but got {type(net).__name__}."
        )
    if by == "order" and net is None:
        raise ArgumentValueError(
            "For 'convert_checkpoint', by='order' needs the layers of a network: pass net=..."
        )
    tensors, left = _read_tensors(source)
    moves: dict[str, NameMapping]
    if to == "torch":
        moves = _map_to_torch(tensors)
    elif net is None:
        moves = _map_by_rule(tensors)
    else:
        wanted = {param.name: param for _, param in net.parameters_and_names()}
        moves = _map_by_order(tensors, wanted) if by == "order" else _map_by_name(tensors, wanted)
    moves |= _map_by_user_rules(tensors, name_map or {}, rules or {}, net)
    moves |= {name: NameMapping(name, (), "", "not a tensor") for name in left}
    return _finish(tensors, moves, net, target, to)


@public("train", "millrace")
def load_torch(source: str, net: Cell, **options: Any) -> Conversion:
    """Load PyTorch weights into a network: :func:`convert_checkpoint` without a target file.

    >>> import torch
    >>> from millrace import nn
    >>> torch.save(torch.nn.Linear(2, 1).state_dict(), "linear.pth")
    >>> load_torch("linear.pth", nn.Dense(2, 1)).missing
    []
    """
    done = convert_checkpoint(source, None, net, **options)
    parameters = {param.name: param for _, param in net.parameters_and_names()}
    for name, value in done.values.items():
        parameters[name].set_data(value._torch)
    return done


def _read_tensors(source: str) -> tuple[dict[str, torch.Tensor], list[str]]:
    if source.endswith(ENDINGS):
        if not os.path.isfile(source):
            raise CheckpointError(f"the file {source} does not exist")
        return read_torch(Path(source))
    format = "safetensors" if source.endswith(".safetensors") else "ckpt"
    values = read_checkpoint(resolve_load_path(source, format), format)
    tensors = {name: value._torch for name, value in values.items() if isinstance(value, Parameter)}
    return tensors, [name for name in values if name not in tensors]


# --- which name goes where ----------------------------------------------------------------------------------


def _map_by_rule(tensors: dict[str, torch.Tensor]) -> dict[str, NameMapping]:
    prefix = "module." if all(name.startswith("module.") for name in tensors) else ""
    names = to_millrace(tensors)
    mappings = {}
    for name, tensor in tensors.items():
        new = names.get(name, "").removeprefix(prefix)
        why = "counts batches" if not new else "" if new == name else "by rule"
        mappings[name] = NameMapping(name, tuple(tensor.shape), new, why)
    return mappings


def _map_to_torch(tensors: dict[str, torch.Tensor]) -> dict[str, NameMapping]:
    parts = {
        item.name: item.part
        for item in classify_items(CheckpointItem(n, "", tuple(t.shape), 0) for n, t in tensors.items())
    }
    names = to_torch(list(tensors))
    mappings = {}
    for name, tensor in tensors.items():
        keep = parts[name] in ("parameter", "statistic")
        why = ("" if names[name] == name else "by rule") if keep else f"belongs to the {parts[name]}"
        mappings[name] = NameMapping(
            name, tuple(tensor.shape), names[name] if keep else "", why.replace("the extra", "the run")
        )
    return mappings


def _map_by_name(tensors: dict[str, torch.Tensor], wanted: dict[str, Parameter]) -> dict[str, NameMapping]:
    """Match names that are equal except for parameter naming conventions and one prefix."""
    names_by_role = {parameter_role(name): name for name in wanted}
    best: tuple[int, str] = (-1, "")
    for prefix in sorted({"", *(_head(name) for name in tensors)}, key=len):
        hits = sum(
            parameter_role(name.removeprefix(prefix)) in names_by_role
            for name in tensors
            if name.startswith(prefix)
        )
        if hits > best[0]:
            best = hits, prefix
    prefix = best[1]
    mappings = {}
    for name, tensor in tensors.items():
        target = (
            names_by_role.get(parameter_role(name.removeprefix(prefix))) if name.startswith(prefix) else None
        )
        why = f"without {prefix!r}" if prefix and target else "by rule" if target and target != name else ""
        mappings[name] = _check_mapping(
            name, tensor, target, wanted, why or ("" if target else "the network has no such name")
        )
    return mappings


def _head(name: str) -> str:
    return name.partition(".")[0] + "." if "." in name else ""


def _map_by_order(tensors: dict[str, torch.Tensor], wanted: dict[str, Parameter]) -> dict[str, NameMapping]:
    """Match layers by order; within a layer match parameters by role, else by order."""
    here, there = (
        _group_by_layer(list(wanted)),
        _group_by_layer([n for n in tensors if not n.endswith("num_batches_tracked")]),
    )
    mappings = {}
    for name, tensor in tensors.items():
        mappings[name] = NameMapping(name, tuple(tensor.shape), "", "no layer is left for it")
    for (_, mine), (_, theirs) in zip(here.items(), there.items()):
        roles = {parameter_role(name)[1]: name for name in mine}
        spare = [
            name for name in mine if parameter_role(name)[1] not in {parameter_role(n)[1] for n in theirs}
        ]
        for name in theirs:
            target = roles.get(parameter_role(name)[1]) or (spare.pop(0) if spare else None)
            mappings[name] = _check_mapping(
                name, tensors[name], target, wanted, "by order" if target else "the layer has no such part"
            )
    return mappings


def _group_by_layer(names: list[str]) -> dict[str, list[str]]:
    layers: dict[str, list[str]] = {}
    for name in names:
        layers.setdefault(parameter_role(name)[0], []).append(name)
    return layers


def _map_by_user_rules(
    tensors: dict[str, torch.Tensor], names: Mapping[str, str], rules: Mapping[str, str], net: Cell | None
) -> dict[str, NameMapping]:
    unknown = [name for name in names if name not in tensors]
    if unknown:
        raise ArgumentValueError(
            f"For 'convert_checkpoint', 'name_map' names {unknown[:5]}, which the source does not have; its names "
            f"begin with {list(tensors)[:5]}."
        )
    new_names = dict(names)
    for name in tensors:
        for pattern, text in rules.items():
            if name not in names and re.search(pattern, name):
                new_names[name] = re.sub(pattern, text, new_names.get(name, name))
    wanted = {} if net is None else {param.name: param for _, param in net.parameters_and_names()}
    mappings = {}
    for name, new in new_names.items():
        if net is None:
            mappings[name] = NameMapping(name, tuple(tensors[name].shape), new, "by name_map or rules")
        else:
            target = new if new in wanted else None
            mappings[name] = _check_mapping(
                name,
                tensors[name],
                target,
                wanted,
                "by name_map or rules" if target else f"the network has no {new!r}",
            )
    return mappings


def _check_mapping(
    name: str, tensor: torch.Tensor, target: str | None, wanted: dict[str, Parameter], why: str
) -> NameMapping:
    """Map a value to a parameter of the network if the shapes match; axes of length 1 may differ."""
    shape = tuple(tensor.shape)
    if target is not None and shape != wanted[target].shape:
        there = wanted[target].shape
        if [n for n in shape if n != 1] != [n for n in there if n != 1]:
            return NameMapping(name, shape, "", f"{target} is {_format_shape(there)}")
        why = f"{why + ', ' if why else ''}as {_format_shape(there)}"
    return NameMapping(name, shape, target or "", why)


def _finish(
    tensors: dict[str, torch.Tensor],
    moves: dict[str, NameMapping],
    net: Cell | None,
    target: str | None,
    to: str,
) -> Conversion:
    wanted = {} if net is None else {param.name: param for _, param in net.parameters_and_names()}
    values: dict[str, Parameter] = {}
    for name, move in list(moves.items()):
        if not move.target:
            continue
        if move.target in values:
            moves[name] = move._replace(target="", why=f"{move.target} has its value already")
            continue
        tensor = tensors[name]
        if move.target in wanted:
            tensor = tensor.reshape(wanted[move.target].shape)
        values[move.target] = create_parameter(move.target, tensor.clone().contiguous())
    order = [name for name in [*tensors, *moves] if name in moves]
    done = Conversion(
        values,
        [moves[name] for name in dict.fromkeys(order)],
        [name for name in wanted if name not in values and to == "millrace"],
    )
    if target is not None:
        _write(done.values, target)
    return done


def _write(values: dict[str, Any], target: str) -> None:
    if target.endswith(ENDINGS):
        raise ArgumentValueError(
            f"{target}: weights for PyTorch are written as .safetensors, which it reads with "
            "safetensors.torch.load_file and which runs no code."
        )
    format = "safetensors" if target.endswith(".safetensors") else "ckpt"
    save_checkpoint(values, target, format=format)
