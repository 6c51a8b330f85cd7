"""Ways to break one file of a fake data set, and what the error must then say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Damage", "changed", "cut", "dangling", "empty", "gone", "put", "words"]


@dataclass(frozen=True)
class Damage:
    """What happens to one file. The error must hold the file's name and all of ``says``."""

    how: str
    file: str
    act: Callable[[Path], None]
    says: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.how} {self.file}"

    def break_it(self, folder: Path) -> list[str]:
        """Break the file; what the error must hold comes back."""
        path = folder / self.file
        assert path.is_file(), f"there is no {self.file} to break"
        self.act(path)
        return [path.name, *self.says]


def gone(file: str, *says: str) -> Damage:
    """The file is not there."""
    return Damage("gone", file, Path.unlink, says)


def dangling(file: str, *says: str) -> Damage:
    """The file is listed in its folder, but cannot be opened."""

    def act(path: Path) -> None:
        path.unlink()
        path.symlink_to("nowhere")

    return Damage("dangling", file, act, says)


def cut(file: str, *says: str, keep: int | None = None) -> Damage:
    """The file ends too early: in the middle, or after so many bytes."""

    def act(path: Path) -> None:
        data = path.read_bytes()
        path.write_bytes(data[: len(data) // 2 if keep is None else keep])

    return Damage("cut", file, act, says)


def put(file: str, data: bytes, *says: str) -> Damage:
    """Other bytes stand in the file."""
    return Damage("put", file, lambda path: void(path.write_bytes(data)), says)


def words(file: str, *says: str) -> Damage:
    """The file holds plain words: no format has them as a header."""
    return Damage("words", file, lambda path: void(path.write_bytes(b"nothing of the kind\n" * 3)), says)


def empty(file: str, *says: str) -> Damage:
    """The file has no bytes."""
    return Damage("empty", file, lambda path: void(path.write_bytes(b"")), says)


def changed(file: str, place: int, *says: str) -> Damage:
    """One byte is another."""

    def act(path: Path) -> None:
        data = bytearray(path.read_bytes())
        data[place] ^= 1
        path.write_bytes(data)

    return Damage("changed", file, act, says)


def void(_: object) -> None: ...
