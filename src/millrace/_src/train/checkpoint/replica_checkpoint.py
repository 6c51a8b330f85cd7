"""Checkpoints of data parallel ranks, which are interchangeable: each has the whole network."""

from __future__ import annotations

import os
import re

from millrace._src.core.errors import ArgumentTypeError
from millrace._src.core.public import public

from .load import check_checkpoint

__all__ = ["get_ckpt_path_with_strategy"]


@public("train", "millrace")
def get_ckpt_path_with_strategy(cur_ckpt_path: str, cur_strategy_path: str) -> str | None:
    """The checkpoint of this rank if it is intact, else that of another rank; None if no rank has an intact one.

    The path contains the rank as ``rank_<n>``. The strategy is ignored: every rank's checkpoint has the whole network.

    >>> print(get_ckpt_path_with_strategy("run/rank_0/net.ckpt", ""))
    None
    """
    if not isinstance(cur_ckpt_path, str):
        raise ArgumentTypeError(
            f"For 'get_ckpt_path_with_strategy', 'cur_ckpt_path' must be string, but got {type(cur_ckpt_path)}."
        )
    for path in [cur_ckpt_path, *_rank_paths(cur_ckpt_path)]:
        if os.path.isfile(path) and check_checkpoint(path):
            return path
    return None


def _rank_paths(path: str) -> list[str]:
    match = re.search(r"^(.*?)rank_(\d+)(.*)$", path)
    if match is None:
        return []
    top = os.path.dirname(match[1] + "x") or "."
    try:
        names = os.listdir(top)
    except OSError:
        return []
    ranks = {int(number[1]) for name in names for number in [re.search(r"rank_(\d+)", name)] if number}
    return [f"{match[1]}rank_{n}{match[3].replace(f'rank_{match[2]}', f'rank_{n}')}" for n in sorted(ranks)]
