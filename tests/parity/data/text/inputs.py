"""The values that go in, by name: text of many scripts, arrays of words, and what is no text."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

FILES = Path(__file__).parent / "files"

# what Unicode calls white space, and what looks like it and is none: zero-width, joiners, word joiner, byte order mark
SPACES = "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u180e" + "".join(map(chr, range(0x2000, 0x2010)))
SPACES += "\u2028\u2029\u202f\u205f\u2060\u3000\ufeff"

STRINGS = {
    "empty": "",
    "space": " ",
    "spaces": "   ",
    "latin": "Welcome to Beijing, it's 3.14 o'clock!",
    "padded": "  leading and trailing  ",
    "word": "hello",
    "letter": "a",
    "french": "Où est l'élève Zoë? À l'école — naïve façade ŒUVRE.",
    "german": "Straße GROẞ Fußgängerübergänge ÄÖÜ",
    "turkish": "İstanbul ılık IŞIK Iğdır i̇",
    "greek": "Ὀδυσσεύς ΣΊΣΥΦΟΣ ΐ ΰ ᾳ ᾼ",
    "russian": "Съешь ещё этих МЯГКИХ французских булок",
    "chinese": "今天天气很好,我们去公园玩。",
    "chinese_mixed": "我爱Python编程3天 北京Beijing",
    "rare_chinese": "𠀀𠮷野家㐀䶵豈﨎鶴",
    "japanese": "日本語テキスト、ひらがな カタカナー・ｶﾅ",
    "korean": "안녕하세요 세계 한국어 각",
    "arabic": "مرحبا بالعالم، كيف الحال؟ ١٢٣ مُحَمَّد",
    "hebrew": "שלום עולם שָׁלוֹם",
    "devanagari": "नमस्ते दुनिया। क्षत्रिय १२३",
    "thai": "สวัสดีชาวโลก ภาษาไทย",
    "tamil": "வணக்கம் உலகம்",
    "emoji": "hi 😀👍🏽 👨‍👩‍👧‍👦 🇩🇪🇨🇳 ❤️ 1️⃣ ☺",
    "combining": "e\u0301 a\u0308\u0323 o\u0302\u0301x \u0301alone \u0915\u094d\u0937 n\u0303\u20dd",
    "right_to_left": "abc \u200fשלום\u200e \u202bxyz\u202c \u2067مرحبا\u2069 end",
    "control": "a\x01b\x02 c\x7fd\x80e\x9f f\xadg\u200bh\ufeffi\u2028j",
    "private": "a\ue000b \U000f0000c \ufdd0 \uffff d\U0010ffff",
    "replacement": "a\ufffdb \ufffd c",
    "all_spaces": "x" + "x".join(SPACES) + "x",
    "only_spaces": SPACES,
    "lines": "one\ttwo\nthree\r\nfour\n\nfive\v\fsix\x85seven\u2028eight",
    "full_width": "ＡＢＣ　ａｂｃ１２３！？（Ｔｅｓｔ）",
    "ligatures": "ﬁne eﬃcient ǆ Ǆ ĳ ½ ² ㎏ ℡ № Å Ⅷ",
    "jamo": "\u1112\u1161\u11ab 한 \u1100\u1161",
    "punctuation": "a,b.c;d:e!f?g-h_i(j)k[l]m{n}o<p>q/r\\s|t@u#v$w%x^y&z*+=~`'\"",
    "unicode_punctuation": "«a» “b” ‘c’ …—–‐‑ ¿d? ¡e! 、。「」『』【】〜·•†‡§¶ €£¥¢ ©®™ ±×÷ √∞≠",
    "numbers": "0 12 3.5 -7 1e5 ٣٤ ३४ 四 Ⅳ ¾",
    "mixed": "Hello世界مرحبا שלום नमस्ते😀привет한국あア",
    "unused": "[CLS] the [unused1] [MASK][SEP] [PAD] [UNK] x[CLS]y [cls] [unusedA] [unused12345]",
    "nul": "\0",
    "nuls": "a\0b \0\0 c",
    "long_word": "abc" * 100,
    "long_chinese": "中文" * 60,
    "long_text": "the quick brown fox jumps over the lazy dog " * 20,
    "bert": "Unaffable RUNNING embeddings, unwanted wantedrunning [UNK] 中国 wanted!",
    "decomposed": "Ame\u0301lie \u212b A\u030a \u1e9b\u0323",
    "titlecase": "ǅ ǈ ǋ ŉ ǰ ΐ ẖ ᾈ",
    "wiki": "<page><title>AT&amp;T</title> [[Category:Telecom]] [http://www.x.com site] {{cite}} ''Hi'' 42 A</page>",
    "wiki_text": "<text xml:space='preserve'>#REDIRECT [[Computer accessibility]] {{R from CamelCase}}</text>",
    "wiki_link": "[[Image:Foo.png|thumb|left|120px|A ''caption'']] and [[en:Link]] [[a|b]] <ref name=x>r</ref>",
    "tags": "a<b>c</b>d&lt;e&gt; 3 < 4 > 2 <",
    "sentence": "Mary had a little lamb, its fleece was white as snow.",
    "csv": "one,two;three four|five",
}

ARRAYS: dict[str, Any] = {
    "words": lambda: np.array(["one", "Two", "three", "Two", "", "ÄÖ", "中国"]),
    "pieces": lambda: np.array(
        ["unaffable", "Unwanted", "running", "xyz", "", "[UNK]", "中国", "wantedrunning"]
    ),
    "one_word": lambda: np.array(["hello"]),
    "no_words": lambda: np.array([], dtype=np.str_),
    "grid": lambda: np.array([["a b", "C d"], ["e", "ﬁ"]]),
    "digits": lambda: np.array(["1", "-2", "3.5", "1e3"]),
    "positive": lambda: np.array([["1", "+20"], [" 3", "\t\n\v\f\r40 "]]),
    "prefixes": lambda: np.array(["1a", "2 3", "4_000", "0x10", "0b1", "010", "5.", "6\0", "7\u00a0"]),
    "fractions": lambda: np.array(
        ["0.1", ".5", "-0", "0e5", "1E2", "+1e-3", "nan", "-NaN", "0x1.8p1", "1e", "1e+"]
    ),
    "bytes": lambda: np.array(b"caf\xc3\xa9 A b"),
    "not_utf8": lambda: np.array(b"ab \xff\xfe cd"),
    "byte_words": lambda: np.array([b"one", b"caf\xc3\xa9"]),
    "int": lambda: np.array(5),
    "ints": lambda: np.array([3, 0, 2], np.int32),
    "floats": lambda: np.array([1.5, -2.5], np.float32),
    "flags": lambda: np.array([True, False]),
    "list": lambda: ["a b", "c"],
    "none": lambda: None,
    "number": lambda: 5,
    "raw_bytes": lambda: b"ab cd",
    "surrogate": lambda: "\ud800 c",
}

# groups, to be asked for by one name in cases
SCRIPTS = (
    "latin french german turkish greek russian chinese chinese_mixed rare_chinese japanese korean arabic hebrew "
    "devanagari thai tamil emoji combining right_to_left mixed"
)
ODD = (
    "empty space spaces padded word letter control private replacement all_spaces only_spaces lines full_width "
    "ligatures jamo punctuation unicode_punctuation numbers unused nul nuls long_word long_chinese decomposed titlecase"
)
NO_TEXT = "bytes not_utf8 byte_words int ints floats flags list none number raw_bytes surrogate"

# a small vocabulary with pieces of words, as BERT has them
_WORDS = """
    [PAD] [UNK] [CLS] [SEP] [MASK] [unused1] the a un ##aff ##able run ##ning want ##ed ##want wanted
    ##run embed ##ding ##s , . ! ? ' welcome to bei ##jing it s 3 14 o clock hello 中 国 天 北 京 我 爱
    python é e ##é strasse stra ##sse one two three ##e x y quick brown fox jump over lazy dog Un Run
    ##NING [ ] CLS cls unused ＡＢＣ abc 안 ##녕 ##안 न म नम ##स ##ते i ist ##an ##bul ß hi 😀 ( ) - _
"""
WORDS = _WORDS.split()


@cache
def assigned() -> list[str]:
    """The characters of Unicode 15.1 that have a script, read from the table alone: no library is asked.

    Of ideographs and syllables of Korean, which make up most of them and are alike, one in 64.
    """
    path = Path(__file__).parents[4] / "src/millrace/_src/data/kernels/text/unicode_data.py"
    names: dict[str, str] = {}
    exec(path.read_text(), names)  # MindSpore's Python does not have the package
    numbers = [int(one, 36) for one in names["SCRIPTS"].split()]
    points = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    classes = np.repeat(numbers[1::2], numbers[::2]).tolist()
    many = {classes[points.index(ord(one))] for one in "中한"}
    return [
        chr(c)
        for c, kind in zip(points, classes, strict=True)
        if c and kind != classes[0x378] and (kind not in many or c % 64 == 0)
    ]


# each character between two letters, and each alone
ARRAYS["every_char"] = lambda: np.array(" ".join(f"a{char}a" for char in assigned()))
ARRAYS["chars"] = lambda: np.array(assigned())


def make(name: str) -> Any:
    """The value of this name; a new one each time."""
    return STRINGS[name] if name in STRINGS else ARRAYS[name]()
