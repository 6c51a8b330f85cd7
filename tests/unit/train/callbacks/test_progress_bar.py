"""The line that shows how a training goes."""

import io
import re
import sys

import pytest

pytest.importorskip("torch")

from millrace import train
from millrace._src.train.callbacks import progress_bar as progress
from tests.unit.train.small_networks import data, dense


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_sees_epoch_step_rate_loss_and_the_share_of_waiting(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(progress, "EVERY", 0.0)
    monkeypatch.setattr(progress.ProgressBar.__init__, "__defaults__", (None, 0.0))
    dense().train(2, data())
    text = screen.getvalue()
    assert re.search(r"epoch 2/2  step 3/3  [\d.]+ steps/s  loss [\d.e-]+  waited for data \d+%", text)
    assert text.endswith("\r\x1b[2K")


def test_nothing_is_written_elsewhere(capsys):
    dense().train(2, data())
    assert capsys.readouterr() == ("", "")


def test_no_line_is_drawn_between_those_of_a_callback_that_prints(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert progress.should_show_progress([])
    assert not progress.should_show_progress([train.LossMonitor()])
    assert progress.should_show_progress([train.LossMonitor(0)])
