"""WordpieceTokenizer, BasicTokenizer, BertTokenizer."""

from __future__ import annotations

from tests.parity.data.text.cases.case import Better, bad, each
from tests.parity.data.text.inputs import NO_TEXT, ODD, SCRIPTS

_ALL = f"{SCRIPTS} {ODD} bert sentence"
_BASIC = """
    T.BasicTokenizer()
    T.BasicTokenizer(with_offsets=True)
    T.BasicTokenizer(True)
    T.BasicTokenizer(True, True, with_offsets=True)
    T.BasicTokenizer(True, False, T.NormalizeForm.NFKC, True, True)
    T.BasicTokenizer(lower_case=True, preserve_unused_token=False)
    T.BasicTokenizer(lower_case=True, preserve_unused_token=False, with_offsets=True)
    T.BasicTokenizer(False, True, preserve_unused_token=False)
    T.BasicTokenizer(normalization_form=T.NormalizeForm.NFKC)
    T.BasicTokenizer(normalization_form=T.NormalizeForm.NFD, with_offsets=True)
    T.BasicTokenizer(normalization_form=T.NormalizeForm.NFKD, keep_whitespace=True, preserve_unused_token=False)
    T.BasicTokenizer(normalization_form=T.NormalizeForm.NFC)
"""
_V = "T.Vocab.from_list(WORDS)"
_BERT = f"""
    T.BertTokenizer({_V})
    T.BertTokenizer({_V}, with_offsets=True)
    T.BertTokenizer({_V}, lower_case=True)
    T.BertTokenizer({_V}, lower_case=True, with_offsets=True)
    T.BertTokenizer({_V}, lower_case=True, keep_whitespace=True, with_offsets=True)
    T.BertTokenizer({_V}, '##', 100, '', True)
    T.BertTokenizer({_V}, '', 100, '[UNK]', True)
    T.BertTokenizer({_V}, '##', 5, '[UNK]', True, with_offsets=True)
    T.BertTokenizer({_V}, unknown_token='', normalization_form=T.NormalizeForm.NFKC, with_offsets=True)
    T.BertTokenizer({_V}, lower_case=True, preserve_unused_token=False)
    T.BertTokenizer({_V}, unknown_token='nope', lower_case=True)
"""
_PIECES = f"""
    T.WordpieceTokenizer({_V})
    T.WordpieceTokenizer({_V}, with_offsets=True)
    T.WordpieceTokenizer({_V}, unknown_token='')
    T.WordpieceTokenizer({_V}, '##', 100, '', True)
    T.WordpieceTokenizer({_V}, '', 100, '[UNK]', True)
    T.WordpieceTokenizer({_V}, max_bytes_per_token=5, with_offsets=True)
    T.WordpieceTokenizer({_V}, max_bytes_per_token=0, unknown_token='', with_offsets=True)
    T.WordpieceTokenizer({_V}, unknown_token='nope')
"""

CASES = [
    *each(_BASIC, _ALL),
    *each(_BERT, _ALL),
    *each(
        _PIECES,
        "pieces words one_word word empty letter bert grid long_word long_chinese turkish unused nul combining",
    ),
    *each(f"T.BasicTokenizer()\nT.BertTokenizer({_V})", f"{NO_TEXT} words grid no_words word,word"),
    *each(f"T.WordpieceTokenizer({_V})", f"{NO_TEXT} no_words word,word words,words"),
    *bad(
        "T.BasicTokenizer({})",
        "5; 'x'; True, 5; True, True, 5; True, True, None; True, True, 'NFC'; True, True, T.NormalizeForm.NFC, 5",
    ),
    *bad("T.BasicTokenizer({})", "True, True, T.NormalizeForm.NFC, True, 5"),
    *bad(
        "T.WordpieceTokenizer({})",
        f"5; None; 'a'; ['a']; {{'a': 1}}; {_V}, 5; {_V}, '##', 'x'; {_V}, '##', -1; "
        f"{_V}, '##', 1.5; {_V}, '##', 2**40",
    ),
    *bad(
        "T.WordpieceTokenizer({})",
        f"{_V}, '##', 100, 5; {_V}, '##', 100, None; {_V}, '##', 100, '', 5; {_V}, None; {_V}, '##', True",
    ),
    *bad(
        "T.BertTokenizer({})",
        f"5; None; {_V}, 5; {_V}, '##', -1; {_V}, '##', 'x'; {_V}, '##', 100, 5; {_V}, '##', 100, '', 5",
    ),
    *bad(
        "T.BertTokenizer({})",
        f"{_V}, lower_case=5; {_V}, keep_whitespace=5; {_V}, normalization_form=5; {_V}, preserve_unused_token=5; "
        f"{_V}, with_offsets=5",
    ),
]

BETTER = [
    Better(
        r"^T.(Basic|Bert)Tokenizer\(.*True.*\)\((unused|bert)\)$",
        "what stands before a preserved token stands there once; MindSpore repeats it after the token",
    ),
    Better(
        r"^T.(Bert|Wordpiece)Tokenizer\(.*(with_offsets=True|, True)\)\([^-]",
        "one place for each token; MindSpore keeps the places of pieces of a word that it gives up, and ends a "
        "word that is too long after the length of the unknown token",
        same_tokens=True,
    ),
    Better(
        r"\(words?, words?\)$", "two columns are an error; MindSpore leaves the second out without a word"
    ),
    Better(r"^T.WordpieceTokenizer\(.*, '##', ('x'|1.5|True)\)\(-\)$", "the argument is named"),
    Better(r"^T.BertTokenizer\(None\)", "vocab is spelt so"),
]
