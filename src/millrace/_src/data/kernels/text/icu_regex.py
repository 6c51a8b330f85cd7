"""Translate regular expressions from ICU's syntax to that of the library ``regex``.

Both support Unicode properties, sets with && and --, possessive and atomic groups. Rewritten are: line ends, word
boundaries, \\v, \\Q...\\E, \\x{...}, \\0..., \\c., \\e,
\\k<name>, `-` and `&` between sets, and patterns that ICU rejects.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

__all__ = ["PatternError", "translate_icu_pattern"]

_LINE_ENDS = "\\n\\x0b\\x0c\\r\\x85\\u2028\\u2029"
_DOT = f"[^{_LINE_ENDS}]"
# one end of line; a carriage return with a newline counts as one
_LINE_END = f"\\r\\n|(?<!\\r)\\n|[{_LINE_ENDS.replace(chr(92) + 'n', '', 1)}]"
_BEFORE_LAST_END = f"(?=(?:{_LINE_END})?\\Z)"
_LINE_START = f"(?:\\A|(?<=[{_LINE_ENDS.replace(chr(92) + 'r', '', 1)}]|\\r(?!\\n))(?!\\Z))"
_LINE_LIMIT = f"(?={_LINE_END}|\\Z)"
# a word boundary; marks and format characters belong to the character before them
_EXTEND = "\\p{Grapheme_Extend}\\p{Cf}"
_WORD = f"[\\w--[{_EXTEND}]]"
_BOUNDARY = f"(?:(?<={_WORD}[{_EXTEND}]*)(?![{_EXTEND}]|{_WORD})|(?<!{_WORD}[{_EXTEND}]*)(?={_WORD}))"
# escapes with the same meaning in both
_SHARED_ESCAPES = set("adDfnrsStwWhAGXR")
_GROUP = re.compile(r"\(\?([a-zA-Z]*)(?:-([a-zA-Z]*))?([:)])")
_COUNT = re.compile(r"\{\d+(?:,\d*)?\}")
_PROPERTY = re.compile(r"[pP]\{[\w \-=.]+\}")
_POSIX = re.compile(r"\[:\^?[\w \-=]+:\]")


class PatternError(ValueError):
    """A pattern that ICU rejects."""


class _Flags(NamedTuple):
    """Flags that (?smx) sets."""

    dot_all: bool = False
    lines: bool = False
    verbose: bool = False

    def with_changes(self, on: str, off: str) -> _Flags:
        names = {"s": "dot_all", "m": "lines", "x": "verbose"}
        enabled = self._replace(**{names[c]: True for c in on if c in names})
        return enabled._replace(**{names[c]: False for c in off if c in names})


def translate_icu_pattern(pattern: str) -> str:
    """The pattern in the syntax of ``regex`` with its flag V1.

    >>> translate_icu_pattern("a.b")
    'a[^\\\\n\\\\x0b\\\\x0c\\\\r\\\\x85\\\\u2028\\\\u2029]b'
    >>> translate_icu_pattern(r"\\x{4e2d}\\Q.\\E")
    '\\\\U00004e2d\\\\.'
    """
    return _Translator(pattern).run()


class _Translator:
    def __init__(self, pattern: str) -> None:
        self.pattern, self.position = pattern, 0
        self.output: list[str] = []
        self.flags = [_Flags()]
        self.groups = len(re.findall(r"(?<!\\)\((?!\?)|\(\?<(?![=!])", pattern))

    def run(self) -> str:
        steps: dict[str, Callable[[], str]] = {
            "\\": self._translate_escape,
            "[": self._translate_set,
            "(": self._translate_group,
            ")": self._close_group,
            "{": self._translate_count,
            "}": self._reject_brace,
        }
        while self.position < len(self.pattern):
            char = self.pattern[self.position]
            step = steps.get(char)
            self.output.append(step() if step else self._translate_char(char))
        return "".join(self.output)

    def _translate_char(self, char: str) -> str:
        self.position += 1
        flags = self.flags[-1]
        if char == ".":
            return "(?s:\\r\\n|.)" if flags.dot_all else _DOT
        if char == "^":
            return _LINE_START if flags.lines else "\\A"
        if char == "$":
            return _LINE_LIMIT if flags.lines else _BEFORE_LAST_END
        if char == "#" and flags.verbose:
            end = re.compile(f"[{_LINE_ENDS}]").search(self.pattern, self.position)
            self.position = end.end() if end else len(self.pattern)
            return ""
        return char

    def _translate_group(self) -> str:
        match = _GROUP.match(self.pattern, self.position)
        if not match:
            self.flags.append(self.flags[-1])
            self.position += 1
            return "("
        on, off, end = match[1], match[2] or "", match[3]
        new_flags = self.flags[-1].with_changes(on, off)
        self.position = match.end()
        if end == ":":
            self.flags.append(new_flags)
        else:
            self.flags[-1] = new_flags
        # . ^ $ are translated for the flags s and m, so the output needs neither
        on, off = on.replace("s", "").replace("m", ""), off.replace("s", "").replace("m", "")
        return f"(?{on}{'-' + off if off else ''}{end}" if on or off or end == ":" else ""

    def _close_group(self) -> str:
        if len(self.flags) > 1:
            self.flags.pop()
        self.position += 1
        return ")"

    def _translate_count(self) -> str:
        match = _COUNT.match(self.pattern, self.position)
        if not match:
            raise PatternError("a { that begins no count")
        self.position = match.end()
        return match[0]

    def _reject_brace(self) -> str:
        raise PatternError("a } without its {")

    def _translate_escape(self, inside: bool = False) -> str:
        """Translate an escape, at its backslash."""
        rest = self.pattern[self.position + 1 :]
        char = rest[:1]
        if not char:
            raise PatternError("a backslash at the end")
        self.position += 2
        if char == "Q":
            quoted, _, _ = rest[1:].partition("\\E")
            self.position += len(quoted) + (2 if "\\E" in rest[1:] else 0)
            return re.escape(quoted)
        if char in "xuU0cek":
            return self._translate_named_escape(char, rest[1:])
        if char in "pP":
            match = _PROPERTY.match(rest)
            if not match:
                raise PatternError(f"\\{char} without a property in braces")
            self.position += match.end() - 1
            return "\\" + match[0]
        if char == "N":
            name = rest[1:].partition("}")[0]
            self.position += len(name) + 1
            return f"\\N{name}}}"
        if char == "v":
            return _LINE_ENDS if inside else f"[{_LINE_ENDS}]"
        if char in "bB" and not inside:
            return _BOUNDARY if char == "b" else f"(?!{_BOUNDARY})"
        if char == "Z" and not inside:
            return _BEFORE_LAST_END
        if char == "z" and not inside:
            return "\\Z"
        if char in "123456789" and not inside:
            return self._translate_reference(rest)
        if char in _SHARED_ESCAPES and not (inside and char in "AGXR"):
            return "\\" + char
        return re.escape(char)

    def _translate_named_escape(self, char: str, rest: str) -> str:
        """Translate an escape of a character by its code point, or of a group by its name."""
        if char == "k":
            match = re.match(r"<(\w+)>", rest)
            if not match or f"(?<{match[1]}>" not in self.pattern:
                raise PatternError("\\k names no group")
            self.position += match.end()
            return f"(?P={match[1]})"
        if char == "e":
            return "\\x1b"
        if char == "c":
            self.position += 1
            return _escape_char(ord(rest[:1] or "\0") & 31)
        forms = {"x": r"\{([0-9a-fA-F]{1,6})\}|([0-9a-fA-F]{1,2})", "u": r"([0-9a-fA-F]{4})"}
        forms |= {"U": r"([0-9a-fA-F]{8})", "0": r"([0-7]{1,3})"}
        match = re.match(forms[char], rest)
        if not match:
            raise PatternError(f"\\{char} without the number of a character")
        self.position += match.end()
        digits = next(group for group in match.groups() if group)
        return _escape_char(int(digits, 8 if char == "0" else 16))

    def _translate_reference(self, rest: str) -> str:
        digits = re.match(r"\d+", rest)
        assert digits is not None
        number = int(digits[0][:1])
        for length in range(2, len(digits[0]) + 1):
            if int(digits[0][:length]) <= self.groups:
                number = int(digits[0][:length])
        if number > self.groups:
            raise PatternError(f"\\{number} names no group")
        self.position += len(str(number)) - 1
        return f"(?:\\{number})"

    def _translate_set(self) -> str:
        """Translate a set, at its bracket."""
        posix = _POSIX.match(self.pattern, self.position)
        if posix:
            self.position = posix.end()
            return f"[{posix[0]}]"
        parts = ["["]
        self.position += 1
        if self.pattern[self.position : self.position + 1] == "^":
            parts.append("^")
            self.position += 1
        first, after_set = True, False
        while True:
            if self.position >= len(self.pattern):
                raise PatternError("a [ without its ]")
            char = self.pattern[self.position]
            pair = self.pattern[self.position : self.position + 2]
            if char == "]" and not first:
                self.position += 1
                return "".join(parts) + "]"
            if pair in ("&&", "--"):
                if first:
                    raise PatternError(f"{pair} without a set before it")
                parts.append(pair)
                self.position += 2
                after_set = False
            elif char == "[":
                parts.append(self._translate_set())
                after_set = True
            elif char == "\\":
                parts.append(self._translate_escape(inside=True))
                after_set = False
            elif char in "-&" and after_set and self.pattern[self.position + 1 : self.position + 2] == "[":
                parts.append(char * 2)
                self.position += 1
            elif char.isspace() and self.flags[-1].verbose:
                self.position += 1
            else:
                parts.append(char if char == "-" else re.escape(char) if char in "]|~&^#" else char)
                self.position += 1
                after_set = False
            first = False


def _escape_char(point: int) -> str:
    if point > 0x10FFFF:
        raise PatternError("no character has this number")
    return f"\\U{point:08x}"
