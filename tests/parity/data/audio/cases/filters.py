from __future__ import annotations

from tests.parity.calls import each
from tests.parity.data.audio.compare import Better, Near, Rule

# every filter on every kind of input; the parameters on some
WAVES = """mono mono64 mono16 stereo batch batch4 loud quiet silence impulse chirp one two column empty empty2 scalar
nan inf bool int16 text real_complex"""
SOME = "stereo64 long"

CASES = [
    *each(
        """
        A.AllpassBiquad(16000, 1000.0)
        A.BandBiquad(16000, 1000.0)
        A.BandpassBiquad(16000, 1000.0)
        A.BandrejectBiquad(16000, 1000.0)
        A.BassBiquad(16000, 10.0)
        A.Biquad(0.01, 0.02, 0.13, 1.0, 0.12, 0.3)
        A.DeemphBiquad(44100)
        A.EqualizerBiquad(16000, 1000.0, 5.5)
        A.HighpassBiquad(16000, 1000.0)
        A.LowpassBiquad(16000, 1000.0)
        A.RiaaBiquad(44100)
        A.TrebleBiquad(16000, 10.0)
        A.LFilter([1.0, 0.1, 0.3], [0.1, 0.2, 0.3])
        A.Filtfilt([1.0, 0.1, 0.3], [0.1, 0.2, 0.3])
        """,
        WAVES,
    ),
    *each(
        """
        A.AllpassBiquad(44100, 1000.3, 0.3)
        A.AllpassBiquad(-16000, 1000.0)
        A.AllpassBiquad(16000, 0)
        A.AllpassBiquad(16000, 12000.0)
        A.BandBiquad(16000, 2000.7, 0.3, True)
        A.BandBiquad(16000, 5, 1, False)
        A.BandpassBiquad(16000, 2000.7, 0.5, True)
        A.BandpassBiquad(44100, 200.0, 1)
        A.BandrejectBiquad(44100, 3000.7, 0.3)
        A.BassBiquad(44100, -7.3, 1000.7, 0.3)
        A.BassBiquad(16000, 0)
        A.Biquad(1, 2, 3, 4, 1, 1)
        A.Biquad(0.5, 0.0, 0.0, -2.0, 0.1, 0.1)
        A.DeemphBiquad(48000)
        A.EqualizerBiquad(44100, 1000.7, -5.3, 0.3)
        A.HighpassBiquad(44100, 500.7, 0.3)
        A.HighpassBiquad(16000, 8000)
        A.LowpassBiquad(44100, 500.7, 0.3)
        A.LowpassBiquad(4000, 1500.0, 1)
        A.RiaaBiquad(48000)
        A.RiaaBiquad(88200)
        A.RiaaBiquad(96000)
        A.TrebleBiquad(44100, -7.3, 1000.7, 0.3)
        A.LFilter([1.0], [0.5])
        A.LFilter((2, 1), (1, 0))
        A.LFilter([1.0, 0.2, -0.1, 0.05, 0.02], [0.3, 0.1, 0.0, -0.2, 0.5])
        A.LFilter([2.0, 0.1, 0.3], [9.0, 2.0, 1.3], False)
        A.Filtfilt([1.0, 0.1, 0.3], [9.0, 2.0, 1.3])
        A.Filtfilt([1.0, 0.1, 0.3], [9.0, 2.0, 1.3], False)
        A.LFilter([0.0, 0.1], [1.0, 0.2])
        A.LFilter([], [])
        """,
        SOME,
    ),
    # poles near the unit circle: MindSpore's float32 rounds at every step
    *each("A.HighpassBiquad(16000, 20.0)\nA.LowpassBiquad(16000, 100.0)\nA.BassBiquad(16000, 10.0)", "long"),
    # filters that explode
    *each(
        """
        A.Biquad(1.0, 0, 0, 1.0, -2.0, 1.2)
        A.Biquad(1.0, 0, 0, 1.0, -3.0, 1.2)
        A.LFilter([1.0, -2.0], [1.0, 0.0])
        A.LFilter([1.0, -2.0], [1.0, 0.0], False)
        A.LFilter([1.0, 2.0, 0.5], [1.0, 0.0, 0.0], False)
        A.Filtfilt([1.0, -2.0], [1.0, 0.0])
        """,
        "impulse tone chirp64 long",
    ),
    *each(
        """
        A.AllpassBiquad("a", 200.0)
        A.AllpassBiquad(44100.0, 200.0)
        A.AllpassBiquad(True, 200.0)
        A.AllpassBiquad(0, 200.0)
        A.AllpassBiquad(2**31, 200.0)
        A.AllpassBiquad(44100, "a")
        A.AllpassBiquad(44100, None)
        A.AllpassBiquad(44100, 16777217)
        A.AllpassBiquad(44100, -16777217)
        A.AllpassBiquad(44100, 200, "a")
        A.AllpassBiquad(44100, 200, 0)
        A.AllpassBiquad(44100, 200, 1.1)
        A.AllpassBiquad(44100, 200, -1)
        A.AllpassBiquad(44100, 200, None)
        A.BandBiquad("a", 200.0)
        A.BandBiquad(0, 200.0)
        A.BandBiquad(16000, 200.0, 2)
        A.BandBiquad(16000, 200.0, 0.5, 1)
        A.BandpassBiquad(16000, "200.0")
        A.BandpassBiquad(16000, 200.0, 0.5, None)
        A.BandrejectBiquad(16000, [200.0])
        A.BandrejectBiquad(16000, 200.0, 0.0)
        A.BassBiquad(16000, "a")
        A.BassBiquad(16000, 1e10)
        A.BassBiquad(16000, 1, 1e10)
        A.Biquad("a", 0, 0, 1, 0, 0)
        A.Biquad(0, 0, 0, 0, 0, 0)
        A.Biquad(0, 0, 0, 1, 0, 1e10)
        A.Biquad(0, 0, 0, None, 0, 1e10)
        A.Biquad(0, 0, 0, 1e10, 0, 1)
        A.DeemphBiquad(16000)
        A.DeemphBiquad(44100.0)
        A.EqualizerBiquad(16000, "a", 1.0)
        A.EqualizerBiquad(16000, 1e10, 1.0)
        A.EqualizerBiquad(16000, 1.0, "a")
        A.EqualizerBiquad(16000, 1.0, 1.0, 3)
        A.HighpassBiquad(16000, "a")
        A.HighpassBiquad(16000, 1e10)
        A.HighpassBiquad(16000, 1, 1e10)
        A.LowpassBiquad(16000, "a")
        A.LowpassBiquad(16000, 1e10)
        A.LowpassBiquad(16000, 1, 1e10)
        A.RiaaBiquad(16000)
        A.RiaaBiquad(44100.0)
        A.TrebleBiquad(16000, "a")
        A.TrebleBiquad(16000, 1e10)
        A.TrebleBiquad(16000, 1, "a")
        A.LFilter(1, [1.0])
        A.LFilter([1.0], 1)
        A.LFilter(["a"], [1.0])
        A.LFilter([1.0], [None])
        A.LFilter([1.0, 2], [1e10, 1])
        A.LFilter([1.0, 2], [1])
        A.LFilter([1.0], [1], 1)
        A.Filtfilt(1, [1.0])
        A.Filtfilt([1.0], ["a"])
        A.Filtfilt([1.0, 2], [1])
        A.Filtfilt([1.0], [1], None)
        """,
        "-",
    ),
]

_STEPS = "MindSpore rounds to the waveform's type at every step; here float64 is rounded once"
_SHORT = "MindSpore has parts of the coefficients in float32"

RULES: list[Rule] = [
    Near(r"\(mono16\)$", 0.08, _STEPS),
    Near(r"A\.(HighpassBiquad\(16000, 20|BandBiquad\(16000, 5,).*\(long\)$", 3e-4, _STEPS),
    Near(r"A\.BassBiquad\(.*\((stereo|chirp|long)\)$", 2e-5, _STEPS),
    Near(r"A\.BassBiquad\(.*\(loud\)$", 2e-4, _STEPS + "; and cut to [-1, 1] from 60"),
    Near(r"A\.(Band|Bandpass|Treble)Biquad\(.*64\)$", 3e-7, _SHORT),
    Better(
        r"\(real_complex\)$", "the words of a wrong type, not all the values", raises="But got type complex64"
    ),
]
