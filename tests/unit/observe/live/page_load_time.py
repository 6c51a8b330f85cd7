"""How long the page takes to show a run of an hour: python -m tests.unit.observe.live.page_load_time

From the moment the browser is sent to the address to the moment everything is drawn. Nothing asserts on it: what a
machine has to do beside decides. It prints the times, and the size of the file.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from millrace._src.observe.live.dashboard_server import DashboardServer
from tests.unit.observe.live.long_run import write_run
from tests.unit.observe.live.test_browser import CHROMIUM, DRAWN


def main(times: int = 7) -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder) / "hour.history"
        write_run(path)
        browser = playwright.chromium.launch(executable_path=CHROMIUM)
        taken = []
        with DashboardServer(path) as server:
            for _ in range(times):
                page = browser.new_page()
                page.goto(server.url)
                page.wait_for_selector(DRAWN)
                taken.append(int(page.evaluate("document.documentElement.dataset.drawn")))
                points = page.evaluate("document.documentElement.dataset.points")
                page.close()
        browser.close()
        size = path.stat().st_size
    taken.sort()
    middle = taken[len(taken) // 2]
    print(
        f"an hour, {points} points, {size / 1e6:.2f} MB: drawn after {middle} ms ({taken[0]} to {taken[-1]})"
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
