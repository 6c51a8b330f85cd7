"""RegexTokenizer and RegexReplace: ICU's regular expressions."""

from __future__ import annotations

from tests.parity.data.text.cases.case import Better, Case, bad, each
from tests.parity.data.text.inputs import NO_TEXT, ODD, SCRIPTS

_ALL = f"{SCRIPTS} {ODD}"

# what people write, and what ICU writes in its own way
_PATTERNS = (
    r"\s+",
    r"\s",
    r"[ ,.!?]+",
    r"\p{P}",
    r"\p{Lu}",
    r"\p{Han}",
    r"\p{script=Greek}",
    r"\p{sc=Arab}+",
    r"\p{L}+",
    r"\p{N}",
    r"\P{L}",
    r"[[:alpha:]]+",
    r"[\p{L}&&[^a-z]]",
    r"[\p{L}--[a-z]]",
    r"\w+",
    r"\W",
    r"\d",
    r"\D+",
    r"\S",
    r"\b",
    r"\h",
    r"\v",
    r"\R",
    r"\X",
    r"(?i)straSSE",
    r"(?i)I",
    r"(?i)[à-ö]",
    r"(?<=e)",
    r"(?<x>a)\k<x>",
    r"(a|e)(?:x)?",
    r"^.",
    r".$",
    r"(?m)^",
    r"(?s).",
    r".",
    r"a*",
    r"a*+",
    r"(?>a+)b",
    r"\x{4e2d}",
    r"\u4e2d",
    r"[\x{4e00}-\x{9fff}]",
    r"\N{LATIN SMALL LETTER A}",
    r"\Qa.b\E",
    r"\t|\n",
    r"x{2,}",
    r"",
    r"(?x) a  # letter",
    r"\A.",
    r".\Z",
    r"\G.",
    r"[^\u0000-\u007f]",
    r"\p{Alphabetic}",
    r"\p{White_Space}",
    r"\p{Emoji}",
    r"\p{Lowercase}",
    r"[[a-z][0-9]]",
    r"\p{InGreek}",
    r"\p{IsHan}",
    r"\p{Latin}",
    r"\cA",
    r"\101",
    r"\0101",
    r"\e",
    r"\x41",
    r"\U0001f600",
    r"\B",
    r"(?w)\b",
    r"[]a]",
    r"[a-]",
    r"[-a]",
    r"[&&a]",
    r"a]",
    r"}",
)
_SOME = "latin chinese_mixed greek german emoji lines combining mixed control numbers empty word all_spaces"
_BAD = (
    "[",
    "(",
    ")",
    "*",
    "a{2,1}",
    r"\p{Nope}",
    "(?<n",
    r"\k<no>",
    "[z-a]",
    r"\x{110000}",
    "{",
    "a**",
    "(?<=a*)b",
    "\\",
)

CASES = [
    *each(r"T.RegexTokenizer('\\s+')", _ALL),
    *each(r"T.RegexTokenizer('\\s+', '\\s+')", _ALL),
    *each(r"T.RegexTokenizer('\\s+|\\p{P}|\\p{Han}', '\\p{P}|\\p{Han}', True)", _ALL),
    *each(r"T.RegexTokenizer('[\\p{P}|\\p{S}|\\p{Han}]', '', with_offsets=True)", _ALL),
    *[
        Case(f"T.RegexTokenizer({p!r}, {p!r}, True)", (one,))
        for p in _PATTERNS
        for one in "latin mixed lines combining".split()  # noqa: SIM905
    ],
    *[Case(f"T.RegexReplace({p!r}, '_')", (one,)) for p in _PATTERNS for one in _SOME.split()],
    *[Case(f"T.RegexReplace({p!r}, '<$0>', False)", (one,)) for p in _PATTERNS for one in ("latin", "mixed")],
    *each(
        r"""
        T.RegexReplace('(\\w)(\\w)', '$2$1')
        T.RegexReplace('(?<first>\\w)', '${first}${first}')
        T.RegexReplace('e', '\\$')
        T.RegexReplace('e', '\\\\')
        T.RegexReplace('e', '\\n')
        T.RegexReplace('e', '\\u00e9')
        T.RegexReplace('e', '\\x41')
        T.RegexReplace('e', 'é中😀')
        T.RegexReplace('(e)', '$1$')
        T.RegexReplace('(e)', '$9')
        T.RegexReplace('(e)', '$10')
        T.RegexReplace('(e)(x)?', '[$2]')
        T.RegexReplace('e', '$0$0', replace_all=False)
        T.RegexReplace('e', '')
        T.RegexReplace('e', '${no}')
        T.RegexReplace('e', '$a')
        T.RegexReplace('e', '\\')
        T.RegexReplace('\\p{Mn}', '')
        """,
        "latin words grid combining empty",
    ),
    *each("T.RegexTokenizer('a')\nT.RegexReplace('a', 'b')", f"{NO_TEXT} words grid no_words word,word"),
    *[Case(f"T.RegexTokenizer({p!r})", ("latin",)) for p in _BAD],
    *[Case(f"T.RegexTokenizer('a', {p!r})", ("latin",)) for p in _BAD],
    *[Case(f"T.RegexReplace({p!r}, 'x')", ("latin",)) for p in _BAD],
    *bad("T.RegexTokenizer({})", "5; None; 'a', 5; 'a', None; 'a', '', 5; b'a'; ''"),
    *bad("T.RegexReplace({})", "5, 'a'; 'a', 5; 'a', None; 'a', 'b', 5; '', ''; 'a', ''"),
]

BETTER = [
    Better(r"\((words|grid|list)\)$", "each text by itself; MindSpore joins them into the first"),
    Better(r"\\\\X|\\\\N\{|p\{Emoji|\(\?w\)", "MindSpore's ICU comes without the data for these"),
    Better(r"\(\?<=a\*\)b", "look-behinds may be of any length"),
]
