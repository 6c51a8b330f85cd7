"""Embeddings."""

import numpy as np

from tests.parity.runtime.nn.layers import Later, cases_of, made, make

case = cases_of(__name__)
float16 = Later("float16")

IDS = make(2, 5, dtype="int32", low=0, high=7)
case("Embedding", [IDS], 7, 4)
case("Embedding", [IDS], 7, 4, True)
case("Embedding", [IDS], 7, 4, use_one_hot=True, embedding_table="ones", dtype=float16)
case("Embedding", [IDS.astype(np.int64)], 7, 4, embedding_table=made("common.initializer.Uniform", 0.1))
case("Embedding", [IDS], 7, 4, embedding_table=make(7, 4), padding_idx=2)
case("Embedding", [IDS], 7, 4, embedding_table=make(7, 3))
case("Embedding", [IDS], 7, 4, padding_idx=9)
case("Embedding", [IDS], 700, 40)
case("Embedding", [IDS], "a", 4)
case("EmbeddingExt", [IDS], 7, 4)
case("EmbeddingExt", [IDS], 7, 4, padding_idx=-1)
case("EmbeddingExt", [IDS], 7, 4, _weight=make(7, 4), _freeze=True)
case("EmbeddingExt", [IDS], 7, 4, padding_idx=9)
case(
    "EmbeddingExt", [IDS], 7, 4, max_norm=0.3, options={"grads": False, "whole": False}
)  # shortens rows in place
DENSE = {"grads": False}  # MindSpore's are row by row, ours of the whole table
case("EmbeddingLookup", [IDS], 7, 4, options=DENSE)
case("EmbeddingLookup", [IDS], 7, 4, target="DEVICE", sparse=False)
case(
    "EmbeddingLookup",
    [IDS],
    7,
    4,
    max_norm=0.3,
    options={"better": "MindSpore takes the norms of other rows"},
)
case("EmbeddingLookup", [IDS], 7, 4, target="GPU")
case("EmbeddingLookup", [IDS], 7, 4, vocab_cache_size=-1)
case("EmbeddingLookup", [IDS], 7, 4, slice_mode="x", options=DENSE)
FIELDS = (
    make(2, 3, dtype="int32", low=0, high=7),
    make(2, 3),
    make(2, 3, dtype="int32", low=0, high=2, seed=1),
)
for operator in ("SUM", "MEAN", "MAX"):
    case("MultiFieldEmbeddingLookup", list(FIELDS), 7, 4, 2, operator=operator, options={"grads": False})
case("MultiFieldEmbeddingLookup", list(FIELDS), 7, 4, 2, operator="MIN")
case("MultiFieldEmbeddingLookup", list(FIELDS), 7, 4, field_size=2, options={"grads": False})
