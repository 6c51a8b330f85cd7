"""The gallery pages: every image transform with pictures before and after, made from a scene that is drawn here, and
every audio transform, whose sounds gallery_audio.py makes.

mkdocs runs it as a hook and keeps the pictures out of the repository. Alone it writes the pages and the pictures:

    python docs/gallery.py FOLDER
"""

from __future__ import annotations

import functools
import html
import importlib.util
import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

import millrace.dataset as ds
import millrace.dataset.audio as audio
import millrace.dataset.vision as vision
from millrace._src.core import settings

HERE = Path(__file__).parent


def _beside(name: str) -> Any:
    """A module of this folder; mkdocs runs a hook without its folder on the path."""
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(name, module)
    spec.loader.exec_module(module)
    return module


FAMILIES = _beside("gallery_entries").FAMILIES
sounds = _beside("gallery_audio")
SOUND_FAMILIES = _beside("gallery_audio_entries").FAMILIES

HEIGHT, WIDTH = 120, 160
SEED = 15

INTRO = """# Gallery

Every image transform, before and after. The scene is drawn by `docs/gallery.py`, the pictures are made whenever this
page is built. Random transforms are shown three times, with the seed set to {seed}.

```python
import numpy as np
import millrace.dataset.vision as vision

image = np.zeros(({height}, {width}, 3), np.uint8)  # yours
print(vision.RandomRotation(30)(image).shape)
```

"""


# --- the scene ------------------------------------------------------------------------------------------------


@functools.cache
def scene(shift: int = 0) -> np.ndarray:
    """A house by a lake in the evening; with a shift, a boat further on and another light."""
    big = 4
    width, height = WIDTH * big, HEIGHT * big
    down = np.linspace(0, 1, height)[:, None, None]
    top, low = np.array([40, 90, 190]), np.array([255, 200 - 25 * (shift % 3), 120])
    sky = np.broadcast_to(top + (low - top) * np.minimum(1, down / 0.55), (height, width, 3))
    image = Image.fromarray(sky.astype(np.uint8))
    draw = ImageDraw.Draw(image)

    def at(x: float, y: float) -> tuple[float, float]:
        return x * width, y * height

    def shape(colour: str, *points: tuple[float, float]) -> None:
        draw.polygon([at(*point) for point in points], fill=colour)

    def disc(colour: str, x: float, y: float, radius: float) -> None:
        r = radius * height
        draw.ellipse([x * width - r, y * height - r, x * width + r, y * height + r], fill=colour)

    disc("#fff3b0", 0.72, 0.3, 0.13)
    disc("#ffd84d", 0.72, 0.3, 0.1)
    shape("#5b5f97", (0.0, 0.6), (0.2, 0.2), (0.38, 0.6))
    shape("#e8ecf7", (0.2, 0.2), (0.155, 0.29), (0.19, 0.27), (0.215, 0.31), (0.24, 0.28))
    shape("#454b7f", (0.22, 0.6), (0.46, 0.32), (0.7, 0.6))
    shape("#353b6b", (0.55, 0.6), (0.8, 0.42), (1.0, 0.56), (1.0, 0.6))
    shape("#1f7a8c", (0, 0.6), (1, 0.6), (1, 1), (0, 1))
    for i in range(9):
        y = 0.625 + 0.042 * i
        draw.line(
            [*at(0.02 + 0.11 * (i * 5 % 8), y), *at(0.12 + 0.11 * (i * 5 % 8), y)], fill="#4fb3bf", width=3
        )
    draw.line([*at(0.66, 0.64), *at(0.79, 0.64)], fill="#ffe08a", width=6)
    draw.line([*at(0.68, 0.69), *at(0.76, 0.69)], fill="#ffe08a", width=5)
    shape("#2d6a4f", (0, 0.68), (0.2, 0.64), (0.46, 0.7), (0.52, 0.82), (0.3, 1), (0, 1))
    shape("#40916c", (0, 0.8), (0.24, 0.76), (0.44, 0.86), (0.34, 1), (0, 1))
    shape("#f4f1de", (0.1, 0.54), (0.3, 0.54), (0.3, 0.76), (0.1, 0.76))
    shape("#c1121f", (0.07, 0.55), (0.2, 0.4), (0.33, 0.55))
    shape("#7f4f24", (0.175, 0.64), (0.225, 0.64), (0.225, 0.76), (0.175, 0.76))
    for x in (0.12, 0.245):
        shape("#ffd166", (x, 0.59), (x + 0.04, 0.59), (x + 0.04, 0.65), (x, 0.65))
    draw.line([*at(0.41, 0.78), *at(0.41, 0.6)], fill="#6f4518", width=10)
    disc("#52b788", 0.41, 0.56, 0.09)
    disc("#74c69d", 0.395, 0.53, 0.05)
    boat = 0.62 + 0.05 * shift
    shape("#f77f00", (boat, 0.84), (boat + 0.2, 0.84), (boat + 0.16, 0.91), (boat + 0.04, 0.91))
    shape("#ffffff", (boat + 0.1, 0.62), (boat + 0.1, 0.82), (boat + 0.2, 0.82))
    shape("#d62839", (boat + 0.09, 0.66), (boat + 0.09, 0.82), (boat + 0.02, 0.82))
    for i, colour in enumerate(("#e63946", "#ffffff", "#e63946", "#ffffff")):
        x, y = 0.47 + 0.03 * (i % 2), 0.12 + 0.04 * (i // 2)
        shape(
            colour if i in (0, 3) else "#1d3557", (x, y), (x + 0.03, y), (x + 0.03, y + 0.04), (x, y + 0.04)
        )
    draw.line([*at(0.5, 0.2), *at(0.47, 0.33), *at(0.49, 0.44)], fill="#1d3557", width=3)
    return np.asarray(image.resize((WIDTH, HEIGHT), Image.Resampling.LANCZOS))


# the house and the boat: x, y, width, height
BOXES = np.array([[11, 47, 43, 46], [99, 73, 33, 37]], np.float32)


@functools.cache
def video_file() -> bytes:
    """The boat on its way, as an AVI file of five frames."""
    import av

    buffer = io.BytesIO()
    with av.open(buffer, "w", format="avi") as out:
        stream = out.add_stream("mjpeg", rate=5)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuvj444p"
        for shift in range(5):
            out.mux(stream.encode(av.VideoFrame.from_ndarray(scene(shift), "rgb24")))
        out.mux(stream.encode(None))
    return buffer.getvalue()


def inputs(kind: str) -> tuple[Any, ...]:
    """What a transform of this kind is called on."""
    image = scene()
    if kind == "pil":
        return (Image.fromarray(image),)
    if kind == "encoded":
        return (vision.encode_jpeg(image, 90),)
    if kind == "video":
        return (np.frombuffer(video_file(), np.uint8),)
    if kind == "tensor":
        return (vision.ToTensor()(image),)
    if kind == "floats":
        return ((image / 255).astype(np.float32),)
    if kind == "hsv":
        return (vision.RgbToHsv(is_hwc=True)((image / 255).astype(np.float32)),)
    if kind == "small":
        return (vision.ToTensor()(vision.Resize((12, 16))(image)),)
    if kind == "boxes":
        return image, BOXES
    if kind == "batch":
        other = (
            vision.AdjustHue(0.5)(image)[:, ::-1],
            vision.Invert()(image)[::-1],
            vision.AdjustHue(-0.2)(image),
        )
        return np.stack([image, *other]), np.eye(4, dtype=np.float32)
    if kind == "batch_chw":
        images, labels = inputs("batch")
        return images.transpose(0, 3, 1, 2), labels
    return (image,)


# --- values as pictures ---------------------------------------------------------------------------------------


def pictures(value: Any, planes: bool = False) -> list[np.ndarray]:
    """What a person can look at: an array of any kind as one or several pictures, <C,H,W> plane by plane or whole."""
    if isinstance(value, tuple):
        if len(value) == 2 and value[1].ndim == 2 and value[1].shape[1] == 4 and value[0].ndim == 3:
            return [_with_boxes(*value)]
        if len(value) == 2 and value[1].ndim == 2:  # images with labels, frames with sound
            return pictures(value[0])
        return [picture for part in value for picture in pictures(part)]
    pixels = np.asarray(value)
    if pixels.ndim == 1:
        return [_as_noise(pixels)]
    if pixels.ndim == 4:
        rows = pixels.transpose(0, 2, 3, 1) if pixels.shape[1] == 3 else pixels
        return [_plain(row) for row in rows]
    if pixels.ndim == 3 and pixels.shape[0] == 3 and pixels.shape[2] != 3:
        return [_plain(plane) for plane in pixels] if planes else [_plain(pixels.transpose(1, 2, 0))]
    return [_plain(pixels)]


def _plain(pixels: np.ndarray) -> np.ndarray:
    """uint8 <H,W,3>; floats from 0 to 1 as they are, others from their least to their largest value."""
    if pixels.dtype.kind == "f":
        low, high = (0, 1) if pixels.min() >= 0 and pixels.max() <= 1 else (pixels.min(), pixels.max())
        if 1 < high <= 255 and low >= 0:
            low, high = 0, 255
        pixels = np.clip((pixels - low) / max(high - low, 1e-9) * 255, 0, 255)
    pixels = pixels.astype(np.uint8)
    if pixels.ndim == 3 and pixels.shape[2] in (1, 4):
        pixels = pixels[:, :, :3] if pixels.shape[2] == 4 else pixels[:, :, 0]
    return pixels if pixels.ndim == 3 else np.repeat(pixels[:, :, None], 3, axis=2)


def _as_noise(data: np.ndarray) -> np.ndarray:
    """The bytes of a file, each one a grey dot."""
    dots = np.resize(data[len(data) // 3 :], (HEIGHT // 3, WIDTH // 3))  # headers are mostly zeros
    return _plain(np.kron(dots, np.ones((3, 3), np.uint8)))


def _with_boxes(pixels: np.ndarray, boxes: np.ndarray) -> np.ndarray:
    image = Image.fromarray(_plain(pixels))
    draw = ImageDraw.Draw(image)
    for x, y, width, height in boxes.tolist():
        draw.rectangle([x, y, x + width - 1, y + height - 1], outline="#ffea00", width=2)
    return np.asarray(image)


# --- the page -------------------------------------------------------------------------------------------------


class Gallery:
    """A page and its pictures, by the names that the page gives them.

    ``of`` has its INTRO, the ``inputs`` that its transforms are called on, and ``pictures`` of a value.
    """

    def __init__(self, name: str, of: Any, families: Any, shows: int) -> None:
        self.name, self.of, self.shows = name, of, shows
        self.files: dict[str, bytes] = {}
        self.names: list[str] = []
        intro = of.INTRO.format(seed=SEED, height=HEIGHT, width=WIDTH, rate=sounds.RATE)
        parts = [intro, STYLE]
        saved = settings.snapshot()  # the seed of whoever asks for the page stays as it is
        try:
            for family, text, items in families:
                parts.append(f"\n## {family}\n\n{text}\n\n<div class='gallery'>\n")
                parts += [self._card(item) for item in items]
                parts.append("</div>\n")
        finally:
            settings.restore(saved)
        self.page = "".join(parts)

    def _card(self, item: Any) -> str:
        op = eval(item.call, {"audio": audio, "vision": vision, "np": np, "ADVANCE": sounds.ADVANCE})  # noqa: S307 - calls written beside
        name = type(op).__name__
        self.names.append(name)
        given = self.of.inputs(item.kind)
        ds.config.set_seed(SEED)
        made = [
            op(*given) for _ in range(self.shows if op.random and item.times == 0 else max(1, item.times))
        ]
        shown = [self.of.pictures(value, planes=item.kind == "image") for value in made]
        # a picture has its own size in the page, but a smaller one where there are many
        start = self.of.pictures(given if len(given) > 1 else given[0])
        many = 0.62 if len(start) == 1 else 0.5
        share = 1.0 if sum(map(len, shown)) == 1 else many
        before = self._figures(f"before-{item.kind}", start, 1.0 if len(start) == 1 else many)
        after = "".join(
            self._figures(f"{len(self.names)}-{name}-{i}", parts, share) for i, parts in enumerate(shown)
        )
        call = html.escape(item.call)
        return (
            f"<div class='card'><code>{call}</code><p>{html.escape(item.text)}</p>"
            f"<div class='row'><span class='set before'>{before}</span><span class='arrow'>&#8594;</span>"
            f"<span class='set'>{after}</span></div></div>\n"
        )

    def _figures(self, stem: str, shown: list[np.ndarray], share: float) -> str:
        made = []
        for i, pixels in enumerate(shown):
            path = f"{self.name}/{stem}-{i}.webp"
            if path not in self.files:
                buffer = io.BytesIO()
                large = Image.fromarray(pixels)
                if large.height < 40:  # pixels of a tiny picture are meant to be seen
                    large = large.resize((large.width * 8, large.height * 8), Image.Resampling.NEAREST)
                large.save(buffer, "WEBP", quality=88, method=4)
                self.files[path] = buffer.getvalue()
            width = round(Image.open(io.BytesIO(self.files[path])).width * share)
            made.append(f"<img src='{path}' width='{width}' alt='' loading='lazy'>")
        return "".join(made)


STYLE = """<style>
.gallery { display: grid; grid-template-columns: repeat(auto-fill, minmax(21rem, 1fr)); gap: .8rem; }
.gallery .card { border: 1px solid var(--md-default-fg-color--lightest); border-radius: .3rem; padding: .6rem; }
.gallery .card > code { font-weight: 600; overflow-wrap: anywhere; }
.gallery .card > p { margin: .35rem 0 .5rem; font-size: .68rem; }
.gallery .row { display: flex; align-items: center; gap: .3rem; }
.gallery .set { display: flex; flex-wrap: wrap; gap: .2rem; align-items: flex-start; flex: 0 1 auto; min-width: 0; }
.gallery .before { flex-shrink: 0; max-width: 45%; }
.gallery .arrow { color: var(--md-default-fg-color--light); }
.gallery img { border-radius: .15rem; height: auto; max-width: 100%; }
</style>
"""


class Images:
    """What the page of images is made of, all of it above."""

    INTRO = INTRO
    inputs, pictures = staticmethod(inputs), staticmethod(pictures)


@functools.cache
def galleries() -> tuple[Gallery, Gallery]:
    """The page of images, and that of sounds."""
    return Gallery("gallery", Images, FAMILIES, 3), Gallery("gallery-audio", sounds, SOUND_FAMILIES, 2)


def on_files(files: Any, *, config: Any) -> Any:
    """mkdocs: the pages and the pictures, as if they were files of docs/."""
    from mkdocs.structure.files import File

    for made in galleries():
        files.append(File.generated(config, f"{made.name}.md", content=made.page))
        for path, data in made.files.items():
            files.append(File.generated(config, path, content=data))
    return files


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print(__doc__)  # noqa: T201
        return 2
    folder = Path(arguments[0])
    for made in galleries():
        page = folder / f"{made.name}.md"
        (folder / made.name).mkdir(parents=True, exist_ok=True)
        page.write_text(made.page, encoding="utf-8")
        for path, data in made.files.items():
            (folder / path).write_bytes(data)
        print(f"{page}: {len(made.names)} transforms, {len(made.files)} pictures")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
