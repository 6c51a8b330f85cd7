"""A training shows what MindSpore 2.7.0 shows: moments, what callbacks see, what is printed, what is refused."""

import json
from pathlib import Path

import pytest

pytest.importorskip("torch")

from millrace import GRAPH_MODE, PYNATIVE_MODE, set_context

from . import run_case as play
from . import run_mixed_precision as play_amp

GOLDENS = Path(__file__).parent / "goldens"

# Where MindSpore is wrong or weaker: scene, key -> reason.
KNOWN = {
    ("small", "calls"): "MindSpore forgets the functions for evaluations inside of fit",
    ("watches", "14"): "an error should fall: MindSpore takes it for something that should rise",
    ("watches", "15"): "so with a loss of another name than its own two",
}


@pytest.fixture(params=[PYNATIVE_MODE, GRAPH_MODE], ids=["pynative", "graph"])
def stage(request):
    set_context(mode=request.param)
    yield play.Stage("millrace")
    set_context(mode=PYNATIVE_MODE)


def entries(found):
    return (
        found.items()
        if isinstance(found, dict)
        else ((str(number), each) for number, each in enumerate(found))
    )


ALL = {**play.SCENES, **{f"amp_{name}": scene for name, scene in play_amp.SCENES.items()}}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", sorted(ALL))
def test_scene(stage, name):
    golden = dict(entries(json.loads((GOLDENS / f"{name}.json").read_text())))
    made = dict(entries(json.loads(json.dumps(ALL[name](stage)))))
    assert made.keys() == golden.keys()
    wrong = {key: (made[key], golden[key]) for key in golden if made[key] != golden[key]}
    assert {key: value for key, value in wrong.items() if (name, key) not in KNOWN} == {}
    assert [key for scene, key in KNOWN if scene == name and key not in wrong] == [], "no difference any more"
