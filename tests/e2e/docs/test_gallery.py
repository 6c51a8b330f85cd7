"""The galleries show every image and audio transform, and each one in pictures that can be seen."""

import importlib.util
import io
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import millrace.dataset.audio as audio
import millrace.dataset.vision as vision
from millrace._src.data.transforms.base import Transform

DOCS = Path(__file__).parents[3] / "docs"

# these give the same picture in another form; the noise of Dither is too little to be seen
SAME = {"ToType", "ToPIL", "ToNumpy", "Rescale", "Dither"}


@pytest.fixture(scope="module")
def both():
    spec = importlib.util.spec_from_file_location("gallery", DOCS / "gallery.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return dict(zip(("vision", "audio"), module.galleries(), strict=True))


@pytest.fixture(params=["vision", "audio"])
def made(both, request):
    return both[request.param]


def transforms(room) -> set[str]:
    things = {name: getattr(room, name) for name in room.__all__}
    return {
        name for name, thing in things.items() if isinstance(thing, type) and issubclass(thing, Transform)
    }


@pytest.mark.parametrize("room", [vision, audio])
def test_every_transform_is_in_it(both, room):
    assert set(both[room.__name__.rpartition(".")[2]].names) == transforms(room)


def test_every_card_has_pictures_that_open(made):
    cards = made.page.split("<div class='card'>")[1:]
    assert len(cards) == len(made.names)
    for card in cards:
        before, _, after = card.partition("class='arrow'")
        for part in (before, after):
            assert re.search(rf"<img src='{made.name}/", part), card
    named = set(re.findall(r"<img src='([^']+)'", made.page))
    assert named == set(made.files)
    for data in made.files.values():
        assert min(Image.open(io.BytesIO(data)).size) >= 30
    assert sum(map(len, made.files.values())) < 3_000_000


def test_something_is_to_be_seen(made):
    """What a transform gave is not what it was given, but where it only changes the form."""

    def pixels(path: str) -> np.ndarray:
        return np.asarray(Image.open(io.BytesIO(made.files[path])).convert("RGB")).astype(int)

    for name, card in zip(made.names, made.page.split("<div class='card'>")[1:], strict=True):
        before, _, after = card.partition("class='arrow'")
        first = [pixels(path) for path in re.findall(r"<img src='([^']+)'", before)]
        then = [pixels(path) for path in re.findall(r"<img src='([^']+)'", after)]
        alike = len(first) == len(then) and all(
            a.shape == b.shape and np.abs(a - b).mean() < 1 for a, b in zip(first, then)
        )
        assert alike == (name in SAME), name


def test_its_example_runs(made):
    code = re.search(r"```python\n(.*?)```", made.page, re.DOTALL)[1]
    exec(compile(code, f"{made.name}.md", "exec"), {})  # the page's own words
