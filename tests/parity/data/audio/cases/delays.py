from __future__ import annotations

from tests.parity.calls import each
from tests.parity.data.audio.compare import Better, Near, Rule

WAVES = """mono mono64 mono16 stereo stereo64 batch batch4 loud silence one column empty scalar nan inf bool
int16 int64 text"""

CASES = [
    *each("A.Phaser(16000)\nA.Flanger(16000)\nA.Flanger(16000, 0.5, 1.0, 50.0)", WAVES),
    *each(
        """
        A.Phaser(44100, 0.9, 0.5, 5.0, 0.7, 2.0)
        A.Phaser(16000, 0.9, 0.5, 1.0, 0.99, 0.1, False)
        A.Phaser(8000, 1, 1000, 0.5, 0, 2, False)
        A.Phaser(100, delay_ms=5.0)
        A.Flanger(8000, 0, 10, 0, 100, 10, 100)
        A.Flanger(44100, 30, 0, -95, 0, 0.1, 0)
        A.Flanger(16000, 2.5, 3.3, 20.0, 80, 2.0, 50.0, A.Modulation.TRIANGULAR)
        A.Flanger(16000, 0, 2, 95, 71, 5.5, 25, A.Modulation.SINUSOIDAL, A.Interpolation.QUADRATIC)
        A.Flanger(16000, 1, 2, 0, 71, 5.5, 25, A.Modulation.TRIANGULAR, A.Interpolation.QUADRATIC)
        """,
        "long2 stereo64",
    ),
    *each("A.Phaser(0)\nA.Phaser(-16000)\nA.Phaser(16000, delay_ms=0)", "mono"),
    *each("A.Flanger(1)\nA.Flanger(2, speed=10)\nA.Flanger(-16000)", "stereo"),
    *each("A.Flanger(16000)", "spec"),
    *each(
        """
        A.Phaser("a")
        A.Phaser(16000.0)
        A.Phaser(2**31)
        A.Phaser(16000, "a")
        A.Phaser(16000, 1.1)
        A.Phaser(16000, 1, -1)
        A.Phaser(16000, 1, 1e10)
        A.Phaser(16000, 1, 1, 5.1)
        A.Phaser(16000, 1, 1, 1, 1)
        A.Phaser(16000, 1, 1, 1, 0.5, 0)
        A.Phaser(16000, 1, 1, 1, 0.5, 2.1)
        A.Phaser(16000, 1, 1, 1, 0.5, 1, 1)
        A.Flanger("a")
        A.Flanger(0)
        A.Flanger(16000, -1)
        A.Flanger(16000, 30.1)
        A.Flanger(16000, "a")
        A.Flanger(16000, 1, 10.1)
        A.Flanger(16000, 1, 1, 96)
        A.Flanger(16000, 1, 1, 9, 101)
        A.Flanger(16000, 1, 1, 9, 10, 0)
        A.Flanger(16000, 1, 1, 9, 10, 1, 101)
        A.Flanger(16000, 1, 1, 9, 10, 1, 10, "sinusoidal")
        A.Flanger(16000, 1, 1, 9, 10, 1, 10, A.Modulation.SINUSOIDAL, None)
        """,
        "-",
    ),
]

RULES: list[Rule] = [
    Better(r"A\.Phaser\(16000\)\(nan\)$", "NaN stays NaN; MindSpore makes 1 of it"),
    Near(r"A\.Phaser\(.*o64\)$", 1e-7, "MindSpore multiplies gains in float32"),
    Near(r"A\.Flanger\(.*\(stereo64\)$", 5e-6, "MindSpore has the table of delays in float32"),
    Better(r"A\.Flanger\(.*\(int\d+\)$", "floats, as elsewhere; MindSpore cuts to integers from -1 to 1"),
    Better(r"A\.Phaser\(-16000\)", "MindSpore runs out of memory", raises="table_size must be more than 0"),
    Better(
        r"A\.Phaser\(16000, delay_ms=0\)", "MindSpore divides by 0 and crashes", raises="less than one sample"
    ),
]
