"""Bounded, safe readers for annotation files: VOC XML and COCO JSON."""

from __future__ import annotations

import os
from typing import Any
from xml.parsers import expat

from millrace._src.core.errors import FormatError

from .json_decoder import decode_json

__all__ = ["read_json", "read_xml"]

_MAX_XML_BYTES = 16 << 20
_MAX_JSON_BYTES = 4 << 30
_MAX_DEPTH = 32
_MAX_NODES = 1_000_000


def read_json(path: str | os.PathLike[str], max_bytes: int = _MAX_JSON_BYTES) -> Any:
    """Read a JSON file of bounded size.

    Raises a FormatError with the file name for a file that is too large, too deeply nested or not JSON.

    >>> with open("a.json", "w") as file:
    ...     _ = file.write('{"images": []}')
    >>> read_json("a.json")
    {'images': []}
    """
    name = os.fspath(path)
    try:
        if os.path.getsize(name) > max_bytes:
            raise FormatError(f"a JSON file of more than {max_bytes} bytes cannot be read", file=name)
        with open(name, "rb") as file:
            return decode_json(file.read())
    except OSError as error:
        raise FormatError(f"Invalid file, failed to open: {name} ({error.strerror})", file=name) from error
    except (ValueError, RecursionError) as error:
        raise FormatError(f"Invalid file, failed to parse json file: {error}", file=name) from error


def read_xml(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read an XML file as nested dicts: text for an element without children, a list for repeated names.

    Entities and document types are refused: nothing is expanded or fetched.

    >>> with open("a.xml", "w") as file:
    ...     _ = file.write("<annotation><object><name>cat</name></object><object/></annotation>")
    >>> read_xml("a.xml")
    {'annotation': {'object': [{'name': 'cat'}, '']}}
    """
    name = os.fspath(path)
    try:
        if os.path.getsize(name) > _MAX_XML_BYTES:
            raise FormatError(f"an XML file of more than {_MAX_XML_BYTES} bytes cannot be read", file=name)
        with open(name, "rb") as file:
            data = file.read()
    except OSError as error:
        raise FormatError(f"Invalid file, failed to open: {name} ({error.strerror})", file=name) from error
    builder = _TreeBuilder()
    try:
        builder.parser.Parse(data, True)
    except (expat.ExpatError, ValueError) as error:
        raise FormatError(f"Invalid file, failed to parse xml file: {error}", file=name) from error
    return builder.top[1]


class _TreeBuilder:
    """Build nested dicts from the callbacks of the parser."""

    def __init__(self) -> None:
        self.top: tuple[str, dict[str, Any], list[str]] = ("", {}, [])
        self.open = [self.top]
        self.nodes = 0
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.text
        self.parser.StartDoctypeDeclHandler = self.refuse
        self.parser.EntityDeclHandler = self.refuse

    def refuse(self, *_: Any) -> None:
        raise ValueError("document types and entities cannot be read")

    def start(self, name: str, _: Any) -> None:
        self.nodes += 1
        if len(self.open) > _MAX_DEPTH or self.nodes > _MAX_NODES:
            raise ValueError("it is nested too deep or too large")
        self.open.append((name, {}, []))

    def text(self, data: str) -> None:
        self.open[-1][2].append(data)

    def end(self, _: str) -> None:
        name, children, texts = self.open.pop()
        value: Any = children or "".join(texts).strip()
        above = self.open[-1][1]
        if name not in above:
            above[name] = value
        elif isinstance(above[name], list):
            above[name].append(value)
        else:
            above[name] = [above[name], value]
