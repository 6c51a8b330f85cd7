from __future__ import annotations

from tests.parity.calls import each
from tests.parity.data.audio.compare import Better, Drawn, Near, Rule

WAVES = "chirp chirp64 mono mono16 batch4 stereo uint8 int16 bool one two empty empty2 scalar nan inf text"

CASES = [
    *each("A.Spectrogram(n_fft=64)", WAVES),
    *each("A.Spectrogram()", "long long2 mono"),
    *each(
        """
        A.Spectrogram(n_fft=64, window=A.WindowType.BARTLETT)
        A.Spectrogram(n_fft=64, window=A.WindowType.BLACKMAN)
        A.Spectrogram(n_fft=64, window=A.WindowType.HAMMING)
        A.Spectrogram(n_fft=64, window=A.WindowType.KAISER)
        A.Spectrogram(n_fft=65, win_length=40, hop_length=13)
        A.Spectrogram(n_fft=65, win_length=41, hop_length=13, onesided=False)
        A.Spectrogram(n_fft=64, power=1.0)
        A.Spectrogram(n_fft=64, power=0)
        A.Spectrogram(n_fft=64, power=3)
        A.Spectrogram(n_fft=64, power=0.5)
        A.Spectrogram(n_fft=64, normalized=True)
        A.Spectrogram(n_fft=64, center=False)
        A.Spectrogram(n_fft=64, onesided=False)
        A.Spectrogram(n_fft=64, pad=50)
        A.Spectrogram(n_fft=1)
        A.Spectrogram(n_fft=7, win_length=1)
        A.Spectrogram(n_fft=7, win_length=1, hop_length=3)
        """,
        "chirp stereo64",
    ),
    *each("A.Spectrogram(n_fft=64, center=False)", "impulse bool"),
    *each(
        """
        A.Spectrogram(n_fft=64, pad_mode=A.BorderType.CONSTANT)
        A.Spectrogram(n_fft=64, pad_mode=A.BorderType.EDGE)
        A.Spectrogram(n_fft=64, pad_mode=A.BorderType.REFLECT)
        A.Spectrogram(n_fft=64, pad_mode=A.BorderType.SYMMETRIC)
        """,
        "chirp64 bool two",
    ),
    *each(
        "A.InverseSpectrogram(n_fft=64)",
        "stft stft64 stfts one_frame many_frames stft_full stft_odd spec pair empty text",
    ),
    *each(
        """
        A.InverseSpectrogram(length=200, n_fft=64)
        A.InverseSpectrogram(length=400, n_fft=64)
        A.InverseSpectrogram(length=0, n_fft=64)
        A.InverseSpectrogram(n_fft=64, win_length=50, hop_length=11)
        A.InverseSpectrogram(n_fft=64, hop_length=70)
        A.InverseSpectrogram(n_fft=64, pad=5)
        A.InverseSpectrogram(length=200, n_fft=64, pad=5)
        A.InverseSpectrogram(n_fft=64, normalized=True)
        A.InverseSpectrogram(n_fft=64, center=False)
        A.InverseSpectrogram(n_fft=64, center=False, window=A.WindowType.HAMMING)
        A.InverseSpectrogram(n_fft=64, window=A.WindowType.BARTLETT, hop_length=16)
        """,
        "stft stft64",
    ),
    *each("A.InverseSpectrogram(n_fft=64, onesided=False)", "stft_full stft"),
    *each("A.GriffinLim(n_fft=64)", "power power64 powers power_int one_power spec mono empty text"),
    *each(
        """
        A.GriffinLim(n_fft=64, n_iter=1, rand_init=False)
        A.GriffinLim(n_fft=64, n_iter=4, rand_init=False)
        A.GriffinLim(n_fft=64, n_iter=4, rand_init=False, momentum=0)
        A.GriffinLim(n_fft=64, n_iter=4, rand_init=False, momentum=0.5, power=1.0)
        A.GriffinLim(n_fft=64, n_iter=4, rand_init=False, length=270)
        A.GriffinLim(n_fft=64, n_iter=4, rand_init=False, length=100)
        A.GriffinLim(64, 4, 50, 20, A.WindowType.HAMMING, 2.0, 0.9, None, False)
        A.GriffinLim(64, 4, 0, 0, A.WindowType.HANN, 2.0, 0.9, 0, False)
        """,
        "power power64",
    ),
    *each(
        "A.SpectralCentroid(16000, n_fft=64)",
        "chirp chirp64 stereo batch4 int16 silence one scalar nan empty text",
    ),
    *each(
        "A.SpectralCentroid(44101, 64, 40, 20, 4, A.WindowType.BLACKMAN)\nA.SpectralCentroid(0, n_fft=64)",
        "chirp",
    ),
    *each(
        """
        A.Spectrogram(n_fft=0)
        A.Spectrogram(n_fft=1.5)
        A.Spectrogram(win_length=500)
        A.Spectrogram(win_length=0)
        A.Spectrogram(hop_length=0)
        A.Spectrogram(hop_length='a')
        A.Spectrogram(pad=-1)
        A.Spectrogram(window='hann')
        A.Spectrogram(power=-1.0)
        A.Spectrogram(power='a')
        A.Spectrogram(normalized=1)
        A.Spectrogram(center=None)
        A.Spectrogram(pad_mode='reflect')
        A.Spectrogram(onesided=0)
        A.InverseSpectrogram(length=-1)
        A.InverseSpectrogram(length=1.5)
        A.InverseSpectrogram(n_fft=0)
        A.InverseSpectrogram(win_length=401)
        A.InverseSpectrogram(hop_length=0)
        A.InverseSpectrogram(pad=-1)
        A.InverseSpectrogram(window=1)
        A.InverseSpectrogram(normalized='a')
        A.InverseSpectrogram(center=1)
        A.InverseSpectrogram(pad_mode=None)
        A.InverseSpectrogram(onesided='a')
        A.GriffinLim(n_fft=0)
        A.GriffinLim(n_iter=0)
        A.GriffinLim(win_length=401)
        A.GriffinLim(win_length=-1)
        A.GriffinLim(hop_length=-1)
        A.GriffinLim(window_type='hann')
        A.GriffinLim(power=0)
        A.GriffinLim(momentum=-0.1)
        A.GriffinLim(length=-1)
        A.GriffinLim(rand_init=1)
        A.SpectralCentroid(-1)
        A.SpectralCentroid(1.5)
        A.SpectralCentroid(16000, n_fft=0)
        A.SpectralCentroid(16000, win_length=401)
        A.SpectralCentroid(16000, hop_length=0)
        A.SpectralCentroid(16000, pad=-1)
        A.SpectralCentroid(16000, window='a')
        """,
        "-",
    ),
]

RULES: list[Rule] = [
    Better(
        r"(Spectrogram|Centroid)\(.*\(one\)$", "MindSpore hangs", raises="of one sample cannot be reflected"
    ),
    Better(r"A.Spectrogram.*\(inf\)$", "where infinities meet there are NaNs, at more places"),
    Better(
        r"\((one_frame|one_power)\)$", "MindSpore has no words for it", raises="one frame alone has no length"
    ),
    Better(r"InverseS.*\(many_frames\)$", "MindSpore lays frames onto the first ones"),
    Better(
        r"InverseSpectrogram\(n_fft=64\)\(stft_(full|odd)\)$",
        "named after GriffinLim",
        raises="the frequency of the input",
    ),
    Better(
        r"onesided=False\)\(stft\)$", "MindSpore reads beyond its end", raises="the frequency of the input"
    ),
    Better(r"InverseSpectrogram\(n_fft=64, pad=5\)", "MindSpore cannot reshape what it has made"),
    Better(r"InverseS.*length=200, n_fft=64, pad=5\)\(stft64\)", "float64 stays float64"),
    Better(r"GriffinLim.*\(powers\)$", "leading dimensions are kept"),
    Better(
        r"GriffinLim.*\((mono|text)\)$",
        "clearer words",
        raises="Expecting tensor in shape of <..., freq, time>",
    ),
    Better(r"GriffinLim.*length=100\)", "MindSpore reads beyond its end"),
    Drawn(r"GriffinLim\(n_fft=64\)"),
    Near(r"(stereo64|stft64)\)$", 5e-7, "windows are float32, and their last bit may differ"),
    Near(r"GriffinLim.*\(power64\)$", 2e-6, "MindSpore's momentum and windows are float32"),
]
