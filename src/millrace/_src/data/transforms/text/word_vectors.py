"""Convert words to word vectors."""

from __future__ import annotations

import itertools
from typing import Annotated, Any

import numpy as np

from millrace._src.core.args import check_type, checked
from millrace._src.core.errors import DataError, PlanError
from millrace._src.core.public import public
from millrace._src.core.values.columns import StringColumn
from millrace._src.data.kernels.text.word_vectors import CharNGram, FastText, GloVe, Vectors
from millrace._src.data.transforms.argument_types import ArgumentRule, check_each_type
from millrace._src.data.transforms.tensor_operation import register_json_type

from .base import TextTensorOperation

__all__ = ["ToVectors"]

register_json_type(Vectors, GloVe, FastText, CharNGram)


def _check_numbers(name: str, value: Any) -> None:
    check_each_type(value, (int, float), name)


@public("dataset.text", "dataset.text.transforms")
class ToVectors(TextTensorOperation):
    """Look up word vectors: a row for each word, and for a single word its vector alone.

    Args:
        vectors (Vectors): words and their vectors; also ``GloVe``, ``FastText`` and ``CharNGram``.
        unk_init (sequence): the vector of an unknown word. Default: ``None``, zeros.
        lower_case_backup (bool): whether to look up an unknown word in lower case. Default: ``False``.
            As in MindSpore's documentation, the unchanged word is looked up first; MindSpore itself looks up only the
            lower-case form, and lower-cases only ASCII.

    >>> import millrace.dataset.text as text
    >>> with open("vectors.txt", "w") as file:
    ...     _ = file.write("the 1 2\\nend 3 4\\n")
    >>> text.ToVectors(text.Vectors.from_file("vectors.txt"), unk_init=[-1, -1])(["the", "very", "end"])
    array([[ 1.,  2.],
           [-1., -1.],
           [ 3.,  4.]], dtype=float32)
    """

    batch_column_types = (StringColumn,)

    @checked
    def __init__(
        self,
        vectors: Any,
        unk_init: Annotated[Any, ArgumentRule(_check_numbers)] = None,
        lower_case_backup: bool = False,
    ) -> None:
        check_type(vectors, (Vectors,), "vectors")
        if unk_init and len(unk_init) != vectors.dim:
            raise PlanError(
                "ToVectors: unk_init must be the same length as vectors, but got unk_init: "
                f"{len(unk_init)} and vectors: {vectors.dim}"
            )
        self.vectors = vectors
        self.unk_init = unk_init
        self.lower_case_backup = lower_case_backup

    def row(self, value: Any) -> Any:
        if value.dtype.kind != "U":
            raise DataError(f"ToVectors: input tensor type should be string, but got {value.dtype}.")
        vectors = self._find_vectors(value.reshape(-1).tolist())
        return vectors[0] if len(vectors) == 1 else vectors

    def batch(self, column: StringColumn) -> Any:
        vectors = self._find_vectors(column.strings)
        if column.rows is None:
            return vectors
        lengths = column.lengths
        if (lengths == lengths[:1]).all():
            size = int(lengths[0])
            return vectors if size == 1 else vectors.reshape(len(lengths), size, self.vectors.dim)
        rows = [vectors[a:b] for a, b in itertools.pairwise(column.rows.tolist())]
        return [row[0] if len(row) == 1 else row for row in rows]

    def _find_vectors(self, words: list[str]) -> Any:
        with np.errstate(over="ignore"):
            unknown = np.array(self.unk_init or [0.0] * self.vectors.dim, np.float32)
        return self.vectors.find(words, unknown, self.lower_case_backup)
