"""Regular expressions as ICU writes them, turned into those of the library ``regex``.

Both know Unicode's properties, sets with && and --, possessive and atomic groups. What differs is rewritten here: what
ends a line, where words begin, \\v, \\Q...\\E, \\x{...}, \\0..., \\c., \\e,
\\k<name>, `-` and `&` between sets, and what ICU refuses.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

__all__ = ["PatternError", "translate_icu_pattern"]

_ENDS = "\\n\\x0b\\x0c\\r\\x85\\u2028\\u2029"
_DOT = f"[^{_ENDS}]"
# one end of line: a carriage return with its newline is one
_END = f"\\r\\n|(?<!\\r)\\n|[{_ENDS.replace(chr(92) + 'n', '', 1)}]"
_BEFORE_LAST_END = f"(?=(?:{_END})?\\Z)"
_LINE_START = f"(?:\\A|(?<=[{_ENDS.replace(chr(92) + 'r', '', 1)}]|\\r(?!\\n))(?!\\Z))"
_LINE_LIMIT = f"(?={_END}|\\Z)"
# a boundary of words: marks and format characters belong to what stands before them
_EXTEND = "\\p{Grapheme_Extend}\\p{Cf}"
_WORD = f"[\\w--[{_EXTEND}]]"
_BOUNDARY = f"(?:(?<={_WORD}[{_EXTEND}]*)(?![{_EXTEND}]|{_WORD})|(?<!{_WORD}[{_EXTEND}]*)(?={_WORD}))"
# escapes that both read alike
_SAME = set("adDfnrsStwWhAGXR")
_GROUP = re.compile(r"\(\?([a-zA-Z]*)(?:-([a-zA-Z]*))?([:)])")
_COUNT = re.compile(r"\{\d+(?:,\d*)?\}")
_PROPERTY = re.compile(r"[pP]\{[\w \-=.]+\}")
_POSIX = re.compile(r"\[:\^?[\w \-=]+:\]")


class PatternError(ValueError):
    """A pattern that ICU refuses."""


class _Flags(NamedTuple):
    """What (?smx) has switched on."""

    dot_all: bool = False
    lines: bool = False
    verbose: bool = False

    def changed(self, on: str, off: str) -> _Flags:
        names = {"s": "dot_all", "m": "lines", "x": "verbose"}
        made = self._replace(**{names[c]: True for c in on if c in names})
        return made._replace(**{names[c]: False for c in off if c in names})


def translate_icu_pattern(pattern: str) -> str:
    """The pattern as ``regex`` takes it, with its flag V1.

    >>> translate_icu_pattern("a.b")
    'a[^\\\\n\\\\x0b\\\\x0c\\\\r\\\\x85\\\\u2028\\\\u2029]b'
    >>> translate_icu_pattern(r"\\x{4e2d}\\Q.\\E")
    '\\\\U00004e2d\\\\.'
    """
    return _Translation(pattern).run()


class _Translation:
    def __init__(self, pattern: str) -> None:
        self.pattern, self.at = pattern, 0
        self.made: list[str] = []
        self.flags = [_Flags()]
        self.groups = len(re.findall(r"(?<!\\)\((?!\?)|\(\?<(?![=!])", pattern))

    def run(self) -> str:
        steps: dict[str, Callable[[], str]] = {
            "\\": self._escape,
            "[": self._set,
            "(": self._open,
            ")": self._close,
            "{": self._count,
            "}": self._stray,
        }
        while self.at < len(self.pattern):
            char = self.pattern[self.at]
            step = steps.get(char)
            self.made.append(step() if step else self._plain(char))
        return "".join(self.made)

    def _plain(self, char: str) -> str:
        self.at += 1
        flags = self.flags[-1]
        if char == ".":
            return "(?s:\\r\\n|.)" if flags.dot_all else _DOT
        if char == "^":
            return _LINE_START if flags.lines else "\\A"
        if char == "$":
            return _LINE_LIMIT if flags.lines else _BEFORE_LAST_END
        if char == "#" and flags.verbose:
            end = re.compile(f"[{_ENDS}]").search(self.pattern, self.at)
            self.at = end.end() if end else len(self.pattern)
            return ""
        return char

    def _open(self) -> str:
        found = _GROUP.match(self.pattern, self.at)
        if not found:
            self.flags.append(self.flags[-1])
            self.at += 1
            return "("
        on, off, end = found[1], found[2] or "", found[3]
        changed = self.flags[-1].changed(on, off)
        self.at = found.end()
        if end == ":":
            self.flags.append(changed)
        else:
            self.flags[-1] = changed
        # what . ^ $ mean is written out, so the flags s and m are not needed
        on, off = on.replace("s", "").replace("m", ""), off.replace("s", "").replace("m", "")
        return f"(?{on}{'-' + off if off else ''}{end}" if on or off or end == ":" else ""

    def _close(self) -> str:
        if len(self.flags) > 1:
            self.flags.pop()
        self.at += 1
        return ")"

    def _count(self) -> str:
        found = _COUNT.match(self.pattern, self.at)
        if not found:
            raise PatternError("a { that begins no count")
        self.at = found.end()
        return found[0]

    def _stray(self) -> str:
        raise PatternError("a } without its {")

    def _escape(self, inside: bool = False) -> str:
        """An escape, at its backslash."""
        rest = self.pattern[self.at + 1 :]
        char = rest[:1]
        if not char:
            raise PatternError("a backslash at the end")
        self.at += 2
        if char == "Q":
            quoted, _, _ = rest[1:].partition("\\E")
            self.at += len(quoted) + (2 if "\\E" in rest[1:] else 0)
            return re.escape(quoted)
        if char in "xuU0cek":
            return self._named(char, rest[1:])
        if char in "pP":
            found = _PROPERTY.match(rest)
            if not found:
                raise PatternError(f"\\{char} without a property in braces")
            self.at += found.end() - 1
            return "\\" + found[0]
        if char == "N":
            name = rest[1:].partition("}")[0]
            self.at += len(name) + 1
            return f"\\N{name}}}"
        if char == "v":
            return _ENDS if inside else f"[{_ENDS}]"
        if char in "bB" and not inside:
            return _BOUNDARY if char == "b" else f"(?!{_BOUNDARY})"
        if char == "Z" and not inside:
            return _BEFORE_LAST_END
        if char == "z" and not inside:
            return "\\Z"
        if char in "123456789" and not inside:
            return self._reference(rest)
        if char in _SAME and not (inside and char in "AGXR"):
            return "\\" + char
        return re.escape(char)

    def _named(self, char: str, rest: str) -> str:
        """An escape that gives a character by its number, or a group by its name."""
        if char == "k":
            found = re.match(r"<(\w+)>", rest)
            if not found or f"(?<{found[1]}>" not in self.pattern:
                raise PatternError("\\k names no group")
            self.at += found.end()
            return f"(?P={found[1]})"
        if char == "e":
            return "\\x1b"
        if char == "c":
            self.at += 1
            return _char(ord(rest[:1] or "\0") & 31)
        forms = {"x": r"\{([0-9a-fA-F]{1,6})\}|([0-9a-fA-F]{1,2})", "u": r"([0-9a-fA-F]{4})"}
        forms |= {"U": r"([0-9a-fA-F]{8})", "0": r"([0-7]{1,3})"}
        found = re.match(forms[char], rest)
        if not found:
            raise PatternError(f"\\{char} without the number of a character")
        self.at += found.end()
        digits = next(one for one in found.groups() if one)
        return _char(int(digits, 8 if char == "0" else 16))

    def _reference(self, rest: str) -> str:
        digits = re.match(r"\d+", rest)
        assert digits is not None
        number = int(digits[0][:1])
        for many in range(2, len(digits[0]) + 1):
            if int(digits[0][:many]) <= self.groups:
                number = int(digits[0][:many])
        if number > self.groups:
            raise PatternError(f"\\{number} names no group")
        self.at += len(str(number)) - 1
        return f"(?:\\{number})"

    def _set(self) -> str:
        """A set, at its bracket."""
        posix = _POSIX.match(self.pattern, self.at)
        if posix:
            self.at = posix.end()
            return f"[{posix[0]}]"
        made = ["["]
        self.at += 1
        if self.pattern[self.at : self.at + 1] == "^":
            made.append("^")
            self.at += 1
        first, after_set = True, False
        while True:
            if self.at >= len(self.pattern):
                raise PatternError("a [ without its ]")
            char = self.pattern[self.at]
            two = self.pattern[self.at : self.at + 2]
            if char == "]" and not first:
                self.at += 1
                return "".join(made) + "]"
            if two in ("&&", "--"):
                if first:
                    raise PatternError(f"{two} without a set before it")
                made.append(two)
                self.at += 2
                after_set = False
            elif char == "[":
                made.append(self._set())
                after_set = True
            elif char == "\\":
                made.append(self._escape(inside=True))
                after_set = False
            elif char in "-&" and after_set and self.pattern[self.at + 1 : self.at + 2] == "[":
                made.append(char * 2)
                self.at += 1
            elif char.isspace() and self.flags[-1].verbose:
                self.at += 1
            else:
                made.append(char if char == "-" else re.escape(char) if char in "]|~&^#" else char)
                self.at += 1
                after_set = False
            first = False


def _char(point: int) -> str:
    if point > 0x10FFFF:
        raise PatternError("no character has this number")
    return f"\\U{point:08x}"
