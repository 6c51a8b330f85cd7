"""Vocabularies."""

from __future__ import annotations

from tests.parity.data.text.cases.case import Case, bad, each

_V = "T.Vocab.from_list(['w1', '中', 'w3'])"

CASES = [
    *each(
        """
        sorted(T.Vocab.from_list(['b', 'a', '中'], ['<pad>', '<unk>'], False).vocab().items())
        sorted(T.Vocab.from_list(['b', 'a', '中'], ['<pad>', '<unk>']).vocab().items())
        T.Vocab.from_list([]).vocab()
        T.Vocab.from_list(['']).vocab()
        sorted(T.Vocab.from_dict({'a': 5, 'b': 1}).vocab().items())
        T.Vocab.from_dict({}).vocab()
        """,
        "-",
    ),
    *bad(
        "T.Vocab.from_list({})",
        "['b', 'b']; ['b'], ['x', 'x']; ['b'], ['b']; 'ab'; [1]; None; ['a'], ('x',); ['a'], None, 1",
    ),
    *bad("T.Vocab.from_dict({})", "{'a': -1}; {'a': '1'}; {'a': True}; {1: 1}; [1]; {'a': 2147483648}; None"),
    *bad("T.Vocab().{}", "vocab(); tokens_to_ids('a'); ids_to_tokens(1)"),
    *each(f"{_V}.tokens_to_ids", "word words letter list number none"),
    *bad(
        f"{_V}.tokens_to_ids({{}})",
        "'中'; ['w1', 'x']; []; ['w3']; ['w1', 1]; np.array('w1'); np.array(['w1'])",
    ),
    *bad(f"{_V}.ids_to_tokens({{}})", "1; [1, 2, 9]; []; [0]; [-1]; -1; 'a'; [1.0]; True; [2147483648]; 99"),
    *bad(
        f"{_V}.ids_to_tokens({{}})",
        "np.array([0, 1]); np.array(1); np.array([-1]); [np.int64(1)]; [np.int32(1)]",
    ),
    *bad(
        "T.Vocab.from_file({})",
        "1; 'v', 1; 'v', '', 0; 'v', '', -1; 'v', '', None, ['a', 'a']; 'v', '', None, 'a'",
    ),
    Case("T.Vocab.from_file(F + 'none.txt')", ("-",), "says which call it was, and why"),
]
