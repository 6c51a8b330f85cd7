from __future__ import annotations

from tests.parity.calls import each
from tests.parity.data.audio.compare import Better, Drawn, Near, Rule

WAVES = """mono mono64 mono16 stereo stereo64 batch batch4 loud quiet silence chirp one two empty scalar nan inf
minus_inf bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 text"""
SOME = "mono stereo64 loud int16"

CASES = [
    *each(
        """
        A.Contrast()
        A.DCShift(0.5)
        A.DCShift(0.5, 0.02)
        A.Dither()
        A.Dither(noise_shaping=True)
        A.Dither(A.DensityFunction.RPDF)
        A.Dither(A.DensityFunction.GPDF)
        A.Fade()
        A.Fade(1, 1)
        A.Gain()
        A.MuLawDecoding()
        A.MuLawEncoding()
        A.Overdrive()
        A.Vol(0.5)
        """,
        WAVES,
    ),
    *each(
        """
        A.Contrast(0)
        A.Contrast(33.3)
        A.Contrast(100)
        A.DCShift(0)
        A.DCShift(-0.5)
        A.DCShift(2, 0.5)
        A.DCShift(0.7, 0)
        A.DCShift(0.7, 0.7)
        A.DCShift(0.3, 2.5)
        A.DCShift(0.3, -0.1)
        A.DCShift(-0.5, 0.02)
        A.Fade(10, 20)
        A.Fade(20, 30, A.FadeShape.EXPONENTIAL)
        A.Fade(2, 2, A.FadeShape.EXPONENTIAL)
        A.Fade(30, 30, A.FadeShape.LOGARITHMIC)
        A.Fade(1, 1, A.FadeShape.LOGARITHMIC)
        A.Fade(30, 7, A.FadeShape.QUARTER_SINE)
        A.Fade(1, 0, A.FadeShape.QUARTER_SINE)
        A.Fade(20, 30, A.FadeShape.HALF_SINE)
        A.Fade(0, 1, A.FadeShape.HALF_SINE)
        A.Fade(1000, 0)
        A.Fade(0, 1000)
        A.Gain(3.0)
        A.Gain(-7)
        A.Gain(0)
        A.Gain(200.0)
        A.MuLawDecoding(16)
        A.MuLawDecoding(2)
        A.MuLawDecoding(1)
        A.MuLawDecoding(1000000)
        A.MuLawEncoding(16)
        A.MuLawEncoding(2)
        A.MuLawEncoding(1)
        A.MuLawEncoding(65536)
        A.Overdrive(0, 0)
        A.Overdrive(5.5, 100)
        A.Overdrive(100, 0)
        A.Vol(0)
        A.Vol(3)
        A.Vol(2.0, A.GainType.POWER)
        A.Vol(0.3, A.GainType.POWER)
        A.Vol(-3.3, A.GainType.DB)
        A.Vol(7, A.GainType.DB)
        A.Dither(A.DensityFunction.RPDF, True)
        A.Dither(A.DensityFunction.GPDF, True)
        """,
        SOME,
    ),
    *each("A.MuLawDecoding()\nA.MuLawDecoding(256)", "levels"),
    *each("A.Overdrive()\nA.Overdrive(5.5, 100)", "long long2"),
    *each(
        """
        A.Contrast("a")
        A.Contrast(-1)
        A.Contrast(100.1)
        A.Contrast(None)
        A.DCShift("a")
        A.DCShift(2.1)
        A.DCShift(-2.1)
        A.DCShift(1, "a")
        A.DCShift(1, True)
        A.Dither("TPDF")
        A.Dither(None)
        A.Dither(noise_shaping=1)
        A.Fade("a")
        A.Fade(-1)
        A.Fade(1.0)
        A.Fade(1, -1)
        A.Fade(1, None)
        A.Fade(1, 1, "linear")
        A.Fade(2**31)
        A.Gain('a')
        A.Gain(None)
        A.Gain(True)
        A.Gain(1e9)
        A.Gain(float('nan'))
        A.MuLawDecoding(0)
        A.MuLawDecoding("a")
        A.MuLawDecoding(2.0)
        A.MuLawEncoding(-1)
        A.MuLawEncoding(2**31)
        A.MuLawEncoding(None)
        A.Overdrive("a")
        A.Overdrive(-0.1)
        A.Overdrive(101)
        A.Overdrive(1, "a")
        A.Overdrive(1, -1)
        A.Overdrive(1, 100.5)
        A.Vol("a")
        A.Vol(-1)
        A.Vol(0, A.GainType.POWER)
        A.Vol(1e10, A.GainType.DB)
        A.Vol(-1e10, A.GainType.DB)
        A.Vol(1, "db")
        A.Vol(None)
        """,
        "-",
    ),
]

RULES: list[Rule] = [
    Near(r"A\.Overdrive\(.*o64\)$", 1e-8, "MindSpore has its constants in float32"),
    Better(
        r"float\('nan'\)\)\(-\)$",
        "NaN lies in no interval; MindSpore takes it",
        raises="is not within the required interval",
    ),
    Drawn(r"A\.Dither\(A\.DensityFunction\.[RG]PDF.*\)\((?!empty|scalar|text)"),
    Better(r"A\.DCShift\(-0\.5, 0\.02\)", "MindSpore presses values of a shift below 0 to the wrong side"),
    Better(
        r"A\.MuLawEncoding\(\)\((nan|inf|minus_inf)\)$",
        "no level of -2147483648",
        raises="holds NaN or an infinity",
    ),
    Better(r"A\.MuLawEncoding\(1\)", "no level of -2147483648", raises="'mu' can not be zero"),
]
