"""Pipelines opened and closed, on threads and processes; workers killed; files damaged; pictures, text, sound."""

from __future__ import annotations

import os
import shutil
import signal
from typing import Any, ClassVar

import numpy as np

import millrace.dataset as ds
from benchmarks.soaking import Family, Place
from millrace import int32
from millrace._src.core.errors import MillraceError
from millrace.dataset import audio, text, transforms, vision
from millrace.mindrecord import FileWriter
from tests.support.leaks import Footprint

__all__ = ["Pipelines", "Squares", "add_one", "squares"]

ROWS = 240
RATE = 8000


class Squares:
    """A user's dataset."""

    def __len__(self) -> int:
        return ROWS

    def __getitem__(self, index: int) -> np.ndarray[Any, Any]:
        return np.full(2000, index * index, np.float32)


def add_one(x: Any) -> Any:
    """A user's function."""
    return x + 1


def squares() -> list[int]:
    """What comes out of the two."""
    return [int(np.float32(n * n + 1)) for n in range(ROWS)]


class Pipelines(Family):
    """Each turn checks its rows."""

    DAY: ClassVar[dict[str, int]] = {
        "open_and_close": 20, "kill_a_worker": 8, "damage_a_file": 8, "look": 8, "read": 8, "listen": 8,
    }  # fmt: skip

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.record = self.folder / "x.mindrecord"
        writer = FileWriter(str(self.record))
        writer.add_schema({"n": {"type": "int32"}, "b": {"type": "bytes"}})
        writer.write_raw_data([{"n": n, "b": bytes([n % 256]) * 3000} for n in range(ROWS)])
        writer.commit()
        self._pictures()
        lines = [" ".join(f"word{(n * k) % 97}" for k in range(1, 4 + n % 9)) for n in range(ROWS)]
        (self.folder / "lines.txt").write_text("\n".join(lines) + "\n")
        vocab = text.Vocab.from_list(["[UNK]", *(f"word{n}" for n in range(60))])
        self.reading = [
            text.WhitespaceTokenizer(),
            text.Lookup(vocab, "[UNK]", int32),
            transforms.PadEnd([12], 0),
        ]
        self.read_rows = np.stack([self._alone(self.reading, np.array(line)) for line in lines])
        time = np.arange(RATE // 4, dtype=np.float32) / RATE
        self.waves = np.sin(2 * np.pi * np.arange(200, 232)[:, None] * time).astype(np.float32)
        self.hearing = [audio.MelSpectrogram(RATE, 200, 200, 100, n_mels=20), audio.AmplitudeToDB()]
        self.heard = np.stack([self._alone(self.hearing, wave) for wave in self.waves])

    def _pictures(self) -> None:
        from PIL import Image

        draw = np.random.default_rng(1)
        for n in range(24):
            (self.folder / "pictures" / f"kind{n % 3}").mkdir(parents=True, exist_ok=True)
            pixels = draw.integers(0, 255, (48 + n, 64, 3), np.uint8)
            Image.fromarray(pixels).save(self.folder / "pictures" / f"kind{n % 3}" / f"{n:02}.jpg")
        self.looking = [vision.Decode(), vision.Resize((32, 32)), vision.HWC2CHW()]
        names = sorted((self.folder / "pictures").glob("*/*.jpg"))
        self.looked = np.stack(
            [self._alone(self.looking, np.frombuffer(name.read_bytes(), np.uint8)) for name in names]
        )

    @staticmethod
    def _alone(steps: list[Any], row: Any) -> Any:
        """What transforms make of one row, without a pipeline."""
        for step in steps:
            row = step(row)
        return np.asarray(row)

    def pipeline(self, processes: bool, shuffle: bool = True, **more: Any) -> ds.Dataset:
        data = ds.GeneratorDataset(Squares(), ["x"], shuffle=shuffle, num_parallel_workers=2)
        return data.map(add_one, "x", python_multiprocessing=processes, num_parallel_workers=2, **more).batch(
            8
        )

    def open_and_close(self) -> None:
        """Six pipelines on threads or worker processes, read to the end, left in the middle, or never begun."""
        for number in range(2 if self.place.small else 6):
            data = self.pipeline(processes=number % 3 == 0)
            last = self.draw.choice((0, 3, ROWS))
            if last == ROWS:
                seen = [int(v) for row in self.rows(data) for v in row["x"][:, 0]]
                assert sorted(seen) == sorted(squares())
                continue
            self.did["pipelines opened"] += 1
            rows = data.create_dict_iterator(num_epochs=1, output_numpy=True)
            self.did["rows read"] += sum(len(row["x"]) for _, row in zip(range(last), rows))

    def kill_a_worker(self) -> None:
        """A worker process is killed in the middle of an epoch: another takes its place, and every row comes once."""
        before = set(Footprint.take().processes)
        rows = self.pipeline(processes=True, shuffle=False).create_dict_iterator(
            num_epochs=1, output_numpy=True
        )
        self.did["pipelines opened"] += 1
        seen = list(next(rows)["x"][:, 0])
        workers = sorted(set(Footprint.take().processes) - before)
        if workers:
            os.kill(self.draw.choice(workers), signal.SIGKILL)
            self.did["worker processes killed"] += 1
        seen += [v for row in rows for v in row["x"][:, 0]]
        assert [int(v) for v in seen] == squares()
        self.did["rows read"] += ROWS

    def damage_a_file(self) -> None:
        """A record file is damaged: reading it gives an error that names it, or rows; a whole one is read next."""
        copy = self.folder / "damaged.mindrecord"
        for end in ("", ".db"):
            shutil.copy(f"{self.record}{end}", f"{copy}{end}")
        size = copy.stat().st_size
        with open(copy, "r+b") as file:
            if self.draw.random() < 0.3:
                file.truncate(self.draw.randrange(size))
            else:
                file.seek(self.draw.randrange(size))
                file.write(self.draw.randbytes(64))
        self.did["damaged files met"] += 1
        try:
            self.rows(ds.MindDataset(str(copy), shuffle=False), batched=False)
        except (MillraceError, RuntimeError, ValueError) as error:
            if "damaged.mindrecord" not in str(error):
                raise
        good = ds.MindDataset(str(self.record), shuffle=True)
        assert sorted(int(row["n"]) for row in self.rows(good, batched=False)) == list(range(ROWS))

    def look(self) -> None:
        """Pictures: decoded, resized, on threads and on worker processes, the same bits as without a pipeline."""
        for processes in (False, True):
            data = ds.ImageFolderDataset(str(self.folder / "pictures"), shuffle=False)
            data = data.map(self.looking, "image", python_multiprocessing=processes, num_parallel_workers=2)
            found = np.concatenate([row["image"] for row in self.rows(data.batch(8))])
            np.testing.assert_array_equal(found, self.looked)

    def read(self) -> None:
        """Text: cut into words, looked up, padded, the same numbers as without a pipeline."""
        for workers in (1, 2):
            data = ds.TextFileDataset(str(self.folder / "lines.txt"), shuffle=False)
            data = data.map(self.reading, "text", num_parallel_workers=workers)
            found = np.concatenate([row["text"] for row in self.rows(data.batch(32))])
            np.testing.assert_array_equal(found, self.read_rows)

    def listen(self) -> None:
        """Sound: mel spectrograms in decibel, the same numbers as without a pipeline."""
        for workers in (1, 2):
            data = ds.NumpySlicesDataset({"wave": self.waves}, shuffle=False)
            data = data.map(self.hearing, "wave", num_parallel_workers=workers)
            found = np.concatenate([row["wave"] for row in self.rows(data.batch(8))])
            np.testing.assert_allclose(found, self.heard, rtol=1e-4, atol=1e-3)
