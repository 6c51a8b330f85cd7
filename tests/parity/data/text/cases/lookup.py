"""Words into numbers."""

from __future__ import annotations

from tests.parity.data.text.cases.case import bad, each
from tests.parity.data.text.inputs import NO_TEXT

_VOCAB = "T.Vocab.from_list(['one', 'Two', 'three', '', 'ÄÖ', '中国', 'hello', '<unk>'])"
_WIDE = "T.Vocab.from_dict({'one': 300, 'Two': 70000, 'three': 2147483647, '': 5, 'ÄÖ': 128, '中国': 65505})"
_NUMBERS = [
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
]
_TYPES = ["bool_", *_NUMBERS]
_EARLY = "refused when it is made, not when it is called"
_ENDS = {
    "int8": "127 -128 128 -129",
    "uint8": "255 0 256 -1 -0",
    "int16": "32767 -32768 32768 -32769",
    "uint16": "65535 65536 -1",
    "int32": "2147483647 -2147483648 2147483648 -2147483649",
    "uint32": "4294967295 4294967296 -1",
    "int64": "9223372036854775807 -9223372036854775808 9223372036854775808 -9223372036854775809",
    "uint64": "18446744073709551615 18446744073709551616 -1",
    "float16": "65504 -65504 65505 70000 -70000 1e-8 0.1 inf nan 1e39 1e-46",
    "float32": "3.4028235e38 -3.4028235e38 3.5e38 1e-46 1.1754944e-38 inf -inf nan 1e400 1e-400 0e-500 infinity",
    "float64": "1.7976931348623157e308 1e309 1e-400 2.2250738585072014e-308 0.1 INF 1e999999 0x1p2000",
}
_BAD = "['']; ['a']; ['--1']; ['+']; ['１']; ['١']; ['.']; ['e5']; ['_1']; ['-']"


CASES = [
    *each(
        f"T.Lookup({_VOCAB})\nT.ToNumber(D.int8)",
        "words,words",
        "names the op, and says how each column gets a map",
    ),
    *each(
        f"T.Lookup({_VOCAB})\nT.Lookup({_VOCAB}, '<unk>')", "words one_word word pieces grid empty no_words"
    ),
    *each(f"T.Lookup({_VOCAB})", NO_TEXT),
    *each("\n".join(f"T.Lookup({_VOCAB}, None, D.{kind})" for kind in _TYPES), "words"),
    *each("\n".join(f"T.Lookup({_WIDE}, None, D.{kind})" for kind in _TYPES), "words"),
    *each(f"T.Lookup({_VOCAB}, 'none')\nT.Lookup({_VOCAB}, '[UNK]')", "words", _EARLY),
    *each(f"T.Lookup({_VOCAB}, None, D.string)", "words", _EARLY),
    *bad("T.Lookup({})", "'v'; None; 5; ['a']"),
    *bad("T.Lookup({})", "T.Vocab()", "names the calls that make one"),
    *bad(
        f"T.Lookup({_VOCAB}, {{}})",
        "1; ['a']; None, 'int32'",
        "dtypes of NumPy are taken, too: 'int32' is one",
    )[2:],
    *bad(f"T.Lookup({_VOCAB}, {{}})", "1; ['a']"),
    *each("\n".join(f"T.ToNumber(D.{kind})" for kind in _NUMBERS), "positive prefixes no_words"),
    *each("\n".join(f"T.ToNumber(D.float{bits})" for bits in (16, 32, 64)), "fractions digits"),
    *each("T.ToNumber(D.int32)\nT.ToNumber(D.int64)", f"digits fractions {NO_TEXT}"),
    *[
        case
        for kind, texts in _ENDS.items()
        for case in each("\n".join(f"T.ToNumber(D.{kind})([{text!r}])" for text in texts.split()), "-")
    ],
    *[
        case
        for kind in ("int32", "uint8")
        for case in each("\n".join(f"T.ToNumber(D.{kind})({text})" for text in _BAD.split("; ")), "-")
    ],
    *each(
        "\n".join(f"T.ToNumber(D.float32)({text})" for text in _BAD.split("; ")),
        "-",
        "says that it is no number, not that it is no unsigned integer",
    ),
    *bad("T.ToNumber({})", "D.bool_; D.string"),
    *bad("T.ToNumber({})", "None; 5; 'x'", "dtypes of NumPy are taken, too, and the error says so"),
]
