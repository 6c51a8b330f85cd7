"""SentencePiece and Jieba."""

from __future__ import annotations

from tests.parity.data.text.cases.case import bad, each
from tests.parity.data.text.inputs import NO_TEXT, ODD, SCRIPTS

_TEXT = f"{SCRIPTS} {ODD} sentence"
_MODEL = "F + 'pieces.model'"
_EARLY = "refused when it is made, not when it is called"
_FILES = "F + 'hmm.txt', F + 'jieba.txt'"

CASES = [
    *each(f"T.SentencePieceTokenizer({_MODEL}, T.SPieceTokenizerOutType.STRING)", f"{_TEXT} words {NO_TEXT}"),
    *each(f"T.SentencePieceTokenizer({_MODEL}, T.SPieceTokenizerOutType.INT)", f"{_TEXT} one_word"),
    *each("T.SentencePieceTokenizer(F + 'vectors.txt', T.SPieceTokenizerOutType.INT)", "word", _EARLY),
    *each("T.SentencePieceTokenizer(F + 'none', T.SPieceTokenizerOutType.INT)", "word", _EARLY),
    *bad(f"T.SentencePieceTokenizer({_MODEL}, {{}})", "'STRING'; 1; None"),
    *bad("T.SentencePieceTokenizer({}, T.SPieceTokenizerOutType.INT)", "1; None; b'x'"),
    *bad("T.SentencePieceVocab.from_file({}, 90, 1.0, T.SentencePieceModel.BPE, {{}})", "'a'; 5; ('a',)"),
    *bad(
        "T.SentencePieceVocab.from_file(['a'], {}, 1.0, T.SentencePieceModel.BPE, {{}})",
        "-1; '5'; 1.5; 4294967296",
    ),
    *bad("T.SentencePieceVocab.from_file(['a'], 90, {}, T.SentencePieceModel.BPE, {{}})", "1; 'a'"),
    *bad("T.SentencePieceVocab.from_file(['a'], 90, 1.0, {}, {{}})", "1; 2.5"),
    *bad("T.SentencePieceVocab.from_file(['a'], 90, 1.0, T.SentencePieceModel.BPE, {})", "[]; 'a'; 5"),
    *bad("T.SentencePieceVocab.save_model({})", "1, '.', 'a'; T.SentencePieceVocab(), 1, 'a'"),
    *each(f"T.JiebaTokenizer({_FILES})", f"{_TEXT} words int bytes"),
    *each(
        f"T.JiebaTokenizer({_FILES}, with_offsets=True)",
        " ".join(name for name in _TEXT.split() if name not in ("empty", "nul")),
    ),
    *each(
        f"T.JiebaTokenizer({_FILES}, with_offsets=True)", "empty nul", "the one empty word has a place, too"
    ),
    *each(f"T.JiebaTokenizer({_FILES}, T.JiebaMode.MP)\nT.JiebaTokenizer({_FILES}, T.JiebaMode.HMM)", _TEXT),
    *bad(
        "T.JiebaTokenizer({})",
        "None, 'a'; 5, 'a'; F + 'none', F + 'none'; F + 'hmm.txt', None; F + 'hmm.txt', 5",
    ),
    *bad(f"T.JiebaTokenizer({_FILES}, {{}})", "1; 'MIX'; None; T.JiebaMode.MIX, 1; T.JiebaMode.MIX, None"),
    *bad(f"T.JiebaTokenizer({_FILES}).add_word({{}})", "None"),
    *bad(f"T.JiebaTokenizer({_FILES}).add_dict({{}})", "5; None; F + 'none'; {{'a': 3}}"),
]
