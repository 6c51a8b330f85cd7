"""How long does the import take?"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import Any

from . import Bar, Metric

TITLE = "Import time"
QUESTION = "in a fresh interpreter"
NOTE = (
    "Wall time of the import statement in a fresh interpreter (numpy included) with bytecode kept, best of 3: "
    "`import millrace.dataset`, and what the others need for a first pipeline."
)
METRICS = (Metric("import_s", "import", "s"), Metric("modules", "modules loaded", digits=4))
BARS = (Bar("under 0.5 s", "import_s", below=0.5),)

PROGRAM = """
import sys, time
began = time.perf_counter()
import {module}
print("\\n", time.perf_counter() - began, len(sys.modules))
"""


def imported(module: str) -> Callable[[bool], dict[str, Any]]:
    def run(quick: bool) -> dict[str, Any]:
        times, modules = [], 0
        command = [sys.executable, "-c", PROGRAM.format(module=module)]
        # with bytecode, as pip leaves it beside what it installs: this repository may be used without
        with tempfile.TemporaryDirectory() as bytecode:
            env = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
            env["PYTHONPYCACHEPREFIX"] = bytecode
            for _ in range(2 if quick else 4):
                said = subprocess.run(
                    command, check=True, capture_output=True, text=True, timeout=120, env=env
                ).stdout
                seconds, loaded = said.split()[-2:]
                times.append(float(seconds))
                modules = int(loaded)
        return {"import_s": min(times[1:]), "modules": modules}

    return run


MODULES = {
    "millrace": "millrace.dataset",
    "mindspore": "mindspore.dataset",
    "torch": "torch.utils.data",
    "tensorflow": "tensorflow",
    "grain": "grain",
    "dali": "nvidia.dali.fn",
    "webdataset": "webdataset",
    "huggingface": "datasets",
}
VARIANTS = {peer: {f"import {module}": imported(module)} for peer, module in MODULES.items()}
