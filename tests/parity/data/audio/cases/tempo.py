from __future__ import annotations

from tests.parity.calls import each
from tests.parity.data.audio.compare import Better, Near, Rule

ADVANCE = "np.linspace(0, 90, 33, dtype=np.float32)[:, None]"
ADVANCE64 = "np.linspace(0, 90, 33)[:, None]"

CASES = [
    *each(
        "A.TimeStretch(n_freq=33, fixed_rate=1.3)",
        "stft stft64 stfts stft_int one_frame spec pair empty text complex",
    ),
    *each("A.TimeStretch(n_freq=33)", "stft stft64 stfts complex"),
    *each(
        "A.TimeStretch(10, 33, 0.7)\nA.TimeStretch(10, 33, 3)\nA.TimeStretch(10, 33, 100.0)", "stft stft64"
    ),
    *each(f"A.PhaseVocoder(1.3, {ADVANCE})", "stft stft64 stfts complex spec empty"),
    *each(f"A.PhaseVocoder(0.6, {ADVANCE64})\nA.PhaseVocoder(1, {ADVANCE64})", "stft64"),
    *each(
        "A.PhaseVocoder(1.3, np.zeros(33, np.float32))\nA.PhaseVocoder(1.3, np.zeros((33, 2), np.float32))",
        "stft",
    ),
    *each(
        "A.PitchShift(16000, 4, n_fft=64)", "chirp chirp64 long2 batch4 uint8 silence one scalar empty text"
    ),
    *each(
        """
        A.PitchShift(16000, -3, n_fft=64)
        A.PitchShift(8000, 5, 24, 64, 40, 10, A.WindowType.HAMMING)
        A.PitchShift(16000, 0, n_fft=64)
        A.PitchShift(16000, 12, n_fft=64)
        A.PitchShift(16000, 3, -12, 64)
        """,
        "chirp chirp64",
    ),
    *each(
        "A.Resample(16000, 8000)",
        "chirp chirp64 batch4 stereo uint8 int16 bool one two scalar nan inf empty text",
    ),
    *each(
        """
        A.Resample()
        A.Resample(8000, 16000)
        A.Resample(44100, 16000)
        A.Resample(16000, 44100)
        A.Resample(16000.7, 11025.2)
        A.Resample(3, 2, A.ResampleMethod.KAISER_WINDOW)
        A.Resample(2, 3, A.ResampleMethod.KAISER_WINDOW, 10, 0.9, 5.0)
        A.Resample(3, 2, lowpass_filter_width=1, rolloff=0.5)
        A.Resample(3, 2, rolloff=1.0)
        """,
        "chirp stereo64",
    ),
    *each("A.Resample(0.5, 0.25)\nA.Resample(1, 0.5)", "chirp"),
    *each(
        f"""
        A.TimeStretch(hop_length=0)
        A.TimeStretch(hop_length=1.5)
        A.TimeStretch(n_freq=0)
        A.TimeStretch(fixed_rate=0)
        A.TimeStretch(fixed_rate='a')
        A.PhaseVocoder(0, {ADVANCE})
        A.PhaseVocoder('a', {ADVANCE})
        A.PhaseVocoder(1.0, 1.0)
        A.PitchShift(-1, 4)
        A.PitchShift(1.5, 4)
        A.PitchShift(16000, 1.5)
        A.PitchShift(16000, 4, 0)
        A.PitchShift(16000, 4, n_fft=0)
        A.PitchShift(16000, 4, win_length=513)
        A.PitchShift(16000, 4, win_length=0)
        A.PitchShift(16000, 4, hop_length=0)
        A.PitchShift(16000, 4, window='a')
        A.Resample(0, 8000)
        A.Resample('a', 8000)
        A.Resample(16000, -1.0)
        A.Resample(16000, 8000, 'a')
        A.Resample(16000, 8000, lowpass_filter_width=0)
        A.Resample(16000, 8000, lowpass_filter_width=1.5)
        A.Resample(16000, 8000, rolloff=0.0)
        A.Resample(16000, 8000, rolloff=1)
        A.Resample(16000, 8000, rolloff=1.1)
        """,
        "-",
    ),
]

SUMS = "MindSpore sums phases in float32"
RULES: list[Rule] = [
    Better(r"TimeStretch\(n_freq=33\)", "leading dimensions are kept"),
    Better(
        r"TimeStretch.*1.3\)\(complex\)$",
        "MindSpore takes other frequencies' phases",
        raises="should be equal to",
    ),
    Near(r"(TimeStretch|PhaseVocoder).*\((stft|stfts|stft_int)\)$", 1e-4, SUMS),
    Better(r"PitchShift.*\(one\)$", "MindSpore hangs", raises="of one sample cannot be reflected"),
    Near(r"PitchShift.*\(chirp64\)$", 1e-5, "MindSpore's filter and window are of float32's constants"),
    Near(r"PitchShift.*\(long2\)$", 1e-2, SUMS + ", of 100 frames"),
    Near(r"PitchShift", 1e-3, SUMS),
    Near(r"Resample.*64\)$", 1e-6, "MindSpore's filter is of float32's constants"),
    Better(r"Resample.*\(inf\)$", "where infinities meet there are NaNs, at more places"),
    Better(r"Resample\((0.5, 0.25|1, 0.5)\)", "clearer words", raises="the sample rates must be 1 or more"),
]
