"""The page in a real browser: drawn whole, at any width, in light and dark, without an error and without a network."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from millrace._src.observe.live.dashboard_server import DashboardServer
from millrace._src.observe.live.event_log import EventLogReader, EventLogWriter
from tests.unit.observe.live.long_run import write_run

sync_api = pytest.importorskip("playwright.sync_api")

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine to open the page in"),
    pytest.mark.xdist_group("browser"),
]
DRAWN = "html[data-drawn]"
SECONDS = 60_000.0  # a loaded machine may take its time


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=CHROMIUM, timeout=SECONDS)
        yield made
        made.close()


class Reader:
    """A page that keeps what the browser complained of, and where it went."""

    def __init__(self, browser: Any, width: int = 1280, scheme: str = "light") -> None:
        self.context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.page = self.context.new_page()
        self.page.set_default_timeout(SECONDS)
        self.complaints: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda said: self.complaints.append(said.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("requestfailed", self._failed)
        self.page.on("request", lambda request: self.asked.append(request.url))

    def _failed(self, request: Any) -> None:
        if not request.url.endswith("/events"):  # which the page itself closes at the end of a run
            self.complaints.append(f"failed: {request.url}")

    def open(self, server: DashboardServer) -> Any:
        self.page.goto(server.url)
        self.page.wait_for_selector(DRAWN)
        return self.page

    def told(self, name: str) -> str:
        return str(self.page.evaluate(f"document.documentElement.dataset.{name}"))

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *exc: object) -> None:
        self.context.close()


@pytest.fixture(scope="module")
def hour(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "hour.history"
    write_run(path, seconds=3600, interval=2.0)
    return path


INK = """canvases => canvases.map(canvas => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let inked = 0;
  for (let i = 3; i < data.length; i += 4) inked += data[i] > 0;
  return inked;
})"""


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light")])
def test_an_hour_is_drawn_whole(browser: Any, hour: Path, width: int, scheme: str) -> None:
    with DashboardServer(hour) as server, Reader(browser, width, scheme) as reader:
        page = reader.open(server)
        points = sum(line.get("is") == "point" for line in EventLogReader(hour).all())
        assert (int(reader.told("points")), reader.told("status")) == (points, "finished")
        # nothing sticks out, at the width of a phone neither
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        text = page.inner_text("main")
        for words in (
            "train.py", "The bottleneck is map(RandomCropDecodeResize)", "4730 rows/s (1.1x)", "data slow",
            "waiting for data", "Host ring", "Device ring", "ResNet50", "The device waits for data", "Learning rate",
        ):  # fmt: skip
            assert words in text
        assert page.locator("canvas").count() == 10
        assert min(page.eval_on_selector_all("canvas", INK)) > 50
        assert reader.complaints == []
        # nothing from anywhere else
        assert {url.split("/")[2] for url in reader.asked if not url.startswith("data:")} == {
            f"127.0.0.1:{server.port}"
        }


def test_light_and_dark_follow_the_system(browser: Any, hour: Path) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    with DashboardServer(hour) as server, Reader(browser) as reader:
        page = reader.open(server)
        light = page.evaluate(background)
        page.emulate_media(color_scheme="dark")
        assert page.evaluate(background) != light
        assert reader.complaints == []


def test_a_pointer_on_a_chart_is_told_the_time_and_the_value(browser: Any, hour: Path) -> None:
    with DashboardServer(hour) as server, Reader(browser) as reader:
        page = reader.open(server)
        page.get_by_role("button", name="10 min").click()
        chart = page.locator(".chart", has_text="Loss").first
        chart.locator("canvas").hover()
        page.locator(".chart .top span", has_text=re.compile(r" at 5\d:\d\d")).first.wait_for()
        assert reader.complaints == []


def test_a_run_is_followed_as_it_goes(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "run.history"
    book = write_run(path, seconds=5, over=False)
    server = DashboardServer(path)
    with Reader(browser) as reader:
        try:
            page = reader.open(server)
            page.wait_for_selector("#status.live")
            before = int(reader.told("points"))
            point = next(line for line in reversed(EventLogReader(path).all()) if "training" in line)
            book.add({**point, "t": 6.0, "step": 123_456, "loss": "nan"})
            book.flush()
            page.wait_for_selector(f"html[data-points='{before + 1}']")
            text = page.inner_text("main")
            assert "step 123,456" in text
            assert "nan" in text
            book.add({"is": "over", "t": 6.5, "why": "ValueError: the row is bad"})
            book.close()
            page.wait_for_selector("#status.failed")
            assert "ValueError: the row is bad" in page.inner_text("#verdict")
            assert reader.complaints == []
        finally:
            server.close()
            book.close()


def test_a_page_whose_run_is_gone_says_so(browser: Any, tmp_path: Path) -> None:
    book = write_run(tmp_path / "run.history", seconds=2, over=False)
    with DashboardServer(tmp_path / "run.history") as server, Reader(browser) as reader:
        page = reader.open(server)
        book.forget()
        page.wait_for_selector("#status.gone")
        assert reader.complaints == []


WICKED = '<img src="x" onerror="alert(1)">{{1+1}}'


def test_names_are_shown_and_never_run(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "run.history"
    write_run(path, seconds=5)
    lines = EventLogReader(path).all()
    with Reader(browser) as reader:
        book = EventLogWriter(path, {**lines[0], "program": WICKED})
        for line in lines[1:]:
            if line["is"] == "pipeline":
                line["stages"][1] |= {"name": WICKED, "ops": [WICKED, WICKED]}
            if line["is"] == "verdict":
                line |= {
                    "stage": WICKED,
                    "advice": WICKED,
                    "evidence": WICKED if "channel" in line else [WICKED],
                }
            if "training" in line:
                line["network"] = WICKED
            book.add(line)
        book.close()
        with DashboardServer(path) as server:
            page = reader.open(server)
            assert page.inner_text("h1") == WICKED
            assert page.locator("img").count() == 0
            assert WICKED in page.inner_text("#flow")
            assert reader.complaints == []


def test_pipelines_have_tabs_and_branches_stand_beside_each_other(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "run.history"
    write_run(path, seconds=5)
    lines = EventLogReader(path).all()
    book = EventLogWriter(
        path, {name: lines[0][name] for name in ("started", "program", "rank", "pid", "host")}
    )
    for line in lines[1:]:
        book.add(line)
        if line.get("pipeline") == 1 and line["is"] in ("pipeline", "point"):
            other = {**line, "pipeline": 2}
            if line["is"] == "pipeline":  # two sources that the last stage zips
                other["stages"] = [
                    {**stage, "feeds": None if n == 2 else 2} for n, stage in enumerate(line["stages"])
                ]
            book.add(other)
    book.close()
    with DashboardServer(path) as server, Reader(browser) as reader:
        page = reader.open(server)
        tabs = page.locator("nav button")
        assert tabs.count() == 2
        tabs.nth(1).click()
        assert tabs.nth(1).get_attribute("aria-pressed") == "true"
        left = [box["x"] for box in (page.locator(".branches .box").nth(n).bounding_box() for n in range(2))]
        assert left[0] == left[1]
        assert page.locator(".branches .box").count() == 2
        tabs.nth(0).click()
        assert page.locator(".branches").count() == 0
        assert page.locator(".slots").count() == 2
        assert reader.complaints == []
