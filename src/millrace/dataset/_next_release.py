"""Parts of MindSpore's interface that are not here yet, and what to use meanwhile."""

from __future__ import annotations

__all__ = ["NEXT_RELEASE"]

NEXT_RELEASE = {
    "text": "millrace.dataset.text comes with the next release. The text datasets are here already; until then, "
    "tokenize and look words up in a function of your own: data.map(lambda line: line.split(), 'text')",
    "audio": "millrace.dataset.audio comes with the next release. The audio datasets are here already; until then, "
    "transform waveforms in a function of your own: data.map(my_function, 'waveform')",
}
