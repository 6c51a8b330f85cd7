from __future__ import annotations

from tests.parity.calls import each
from tests.parity.data.audio.compare import Better, Near, Rule

CASES = [
    *each(
        "A.SlidingWindowCmn()",
        "features features64 spec64 power_int flat mono scalar empty text nan_features",
    ),
    *each(
        """
        A.SlidingWindowCmn(5, 2)
        A.SlidingWindowCmn(5, 50)
        A.SlidingWindowCmn(6, 3, False, True)
        A.SlidingWindowCmn(5, 2, True)
        A.SlidingWindowCmn(5, 2, True, True)
        A.SlidingWindowCmn(1, 1, True, True)
        A.SlidingWindowCmn(60, 50, True, True)
        A.SlidingWindowCmn(0, 0)
        A.SlidingWindowCmn(0, 0, True)
        """,
        "features features64",
    ),
    *each(
        "A.DetectPitchFrequency(16000)",
        "second second64 seconds seconds16 hiss silence long2 int16 scalar empty text",
    ),
    *each(
        """
        A.DetectPitchFrequency(16000, 0.02, 5, 100, 2000)
        A.DetectPitchFrequency(8000, 0.015, 4, 60.7, 900.9)
        A.DetectPitchFrequency(16000, 0.01, 1)
        """,
        "second seconds speech",
    ),
    *each("A.Vad(1600)", "hiss hisses mono mono16 uint8 silence scalar empty text speech"),
    *each(
        """
        A.Vad(1600, trigger_level=0)
        A.Vad(1600, trigger_level=-1)
        A.Vad(1600, trigger_level=100.0)
        A.Vad(1600, search_time=0.2, pre_trigger_time=0.1)
        A.Vad(1600, trigger_time=0, noise_up_time=0, noise_down_time=0, measure_smooth_time=0)
        A.Vad(800, 20.0, 0.1, 0.5, 0.1, 0.2, 0.1, 0.5, 0.1, 2.0, 30.0, 0.05, 0.2, 10.0, 300.0, 50.0, 350.0)
        A.Vad(1600, search_time=0)
        A.Vad(1600, hp_filter_freq=790.0)
        A.Vad(1600, hp_lifter_freq=3000.0)
        """,
        "hiss hisses",
    ),
    *each(
        """
        A.SlidingWindowCmn(-1)
        A.SlidingWindowCmn(1.5)
        A.SlidingWindowCmn(5, -1)
        A.SlidingWindowCmn(5, 'a')
        A.SlidingWindowCmn(5, 2, 1)
        A.SlidingWindowCmn(5, 2, True, None)
        A.DetectPitchFrequency(0)
        A.DetectPitchFrequency(1.5)
        A.DetectPitchFrequency(16000, 0)
        A.DetectPitchFrequency(16000, 'a')
        A.DetectPitchFrequency(16000, win_length=0)
        A.DetectPitchFrequency(16000, freq_low=0)
        A.DetectPitchFrequency(16000, freq_high='a')
        A.Vad(0)
        A.Vad(1.5)
        A.Vad(16000, trigger_level='a')
        A.Vad(16000, trigger_time=-1)
        A.Vad(16000, search_time=-1)
        A.Vad(16000, allowed_gap=-1)
        A.Vad(16000, pre_trigger_time=-1)
        A.Vad(16000, boot_time=-1)
        A.Vad(16000, noise_up_time=-1)
        A.Vad(16000, noise_down_time=-1)
        A.Vad(16000, noise_up_time=0.1, noise_down_time=0.2)
        A.Vad(16000, noise_reduction_amount=-1)
        A.Vad(16000, measure_freq=0)
        A.Vad(16000, measure_duration=-1)
        A.Vad(16000, measure_duration='a')
        A.Vad(16000, measure_smooth_time=-1)
        A.Vad(16000, hp_filter_freq=0)
        A.Vad(16000, lp_filter_freq=0)
        A.Vad(16000, hp_lifter_freq=0)
        A.Vad(16000, lp_lifter_freq=0)
        """,
        "-",
    ),
]

RULES: list[Rule] = [
    Near(r"Detect.*\(seconds16\)$", 2e-3, "MindSpore computes in float16"),
    Better(
        r"DetectPitchFrequency\(16000\)\((hiss|silence|long2)\)$", "clearer words", raises="frames or more"
    ),
    Better(r"Detect.*60.7, 900.9\)", "MindSpore takes floats for frequencies and then does not"),
    Better(
        r"Vad.*search_time=0.2.*\(hisses\)$", "MindSpore's 0.2 is a float32, and a little more in float64"
    ),
    Better(r"Vad.*search_time=0\)", "clearer words", raises="the length of measures cannot be zero"),
    Better(r"Vad\(1600\)\(speech\)$", "MindSpore never finds speech"),
]
