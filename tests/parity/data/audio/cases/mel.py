# ruff: noqa: E501
from __future__ import annotations

from tests.parity.calls import each
from tests.parity.data.audio.compare import Better, Drawn, Near, Rule

SLANEY = "norm=A.NormType.SLANEY, mel_type=A.MelType.SLANEY"
ALL = (
    "'n_fft': 64, 'win_length': 50, 'hop_length': 20, 'pad': 3, 'window': A.WindowType.HAMMING, 'power': 1.0, "
    "'normalized': True, 'center': True, 'pad_mode': A.BorderType.REFLECT, 'onesided': True"
)
MELS = (
    ALL
    + ", 'f_min': 20.0, 'f_max': 7000.0, 'n_mels': 20, 'norm': A.NormType.SLANEY, 'mel_scale': A.MelType.SLANEY"
)

CASES = [
    *each(
        "A.MelScale(n_mels=10, n_stft=33)", "power power64 powers power_int mono spec empty text nan_features"
    ),
    *each(
        f"""
        A.MelScale(n_mels=10, n_stft=33, {SLANEY})
        A.MelScale(n_mels=10, n_stft=33, norm=A.NormType.SLANEY, f_min=20, f_max=7000.5)
        A.MelScale(n_mels=40, n_stft=33, sample_rate=11025, mel_type=A.MelType.SLANEY)
        A.MelScale(n_mels=5, n_stft=33, f_min=-100.0, f_max=4000)
        """,
        "power power64",
    ),
    *each(
        "A.MelSpectrogram(n_fft=64, n_mels=10)",
        "chirp chirp64 batch4 stereo mono16 uint8 int16 one scalar nan inf empty text",
    ),
    *each("A.MelSpectrogram()", "long long2 mono"),
    *each(
        """
        A.MelSpectrogram(11025, 65, 41, 13, 20.0, 5000, 5, 12, A.WindowType.BLACKMAN, 1.0, True, False, A.BorderType.EDGE, True, A.NormType.SLANEY, A.MelType.SLANEY)
        A.MelSpectrogram(n_fft=64, n_mels=10, power=3.0)
        A.MelSpectrogram(n_fft=64, n_mels=10, normalized=True)
        A.MelSpectrogram(n_fft=64, n_mels=10, pad_mode=A.BorderType.SYMMETRIC)
        A.MelSpectrogram(n_fft=64, n_mels=10, onesided=False)
        A.MelSpectrogram(n_fft=64, n_mels=0)
        """,
        "chirp",
    ),
    *each("A.MelSpectrogram(n_fft=64, n_mels=10, pad_mode=A.BorderType.CONSTANT)", "bool mono"),
    *each("A.MFCC()", "long long2 stereo scalar empty text"),
    *each(
        f"A.MFCC(n_mfcc=8, log_mels=True, melkwargs={{{MELS}}})\nA.MFCC(n_mfcc=8, norm=A.NormMode.NONE, melkwargs={{{MELS}}})",
        "chirp chirp64 batch4 silence nan",
    ),
    *each("A.LFCC()", "long long2 stereo scalar empty text"),
    *each(
        f"A.LFCC(n_filter=10, n_lfcc=8, log_lf=True, speckwargs={{{ALL}}})\nA.LFCC(16000, 10, 8, 20.0, 7000.0, 2, A.NormMode.NONE, False, {{{ALL}}})",
        "chirp chirp64 batch4 silence nan",
    ),
    *each(
        "A.InverseMelScale(21, 6)\nA.InverseMelScale(21, 6, max_iter=3)",
        "mels mels64 power spec mono empty text",
    ),
    *each(
        f"A.InverseMelScale(21, 6, 16000, 10.0, 7000.0, 50, 1e-3, 1e-3, {{'sgd_lr': 0.05, 'sgd_momentum': 0.5}}, {SLANEY})",
        "mels",
    ),
    *each(
        """
        A.MelScale(n_mels=0)
        A.MelScale(n_mels=1.5)
        A.MelScale(sample_rate=0)
        A.MelScale(f_min='a')
        A.MelScale(f_min=9000.0)
        A.MelScale(f_min=1e8)
        A.MelScale(f_max=-1)
        A.MelScale(f_min=10, f_max=10)
        A.MelScale(n_stft=0)
        A.MelScale(norm='slaney')
        A.MelScale(mel_type=None)
        A.MelSpectrogram(sample_rate=-1)
        A.MelSpectrogram(n_fft=0)
        A.MelSpectrogram(n_fft=1.5)
        A.MelSpectrogram(win_length=401)
        A.MelSpectrogram(win_length=0)
        A.MelSpectrogram(hop_length=0)
        A.MelSpectrogram(f_min=0)
        A.MelSpectrogram(f_min=9000.0)
        A.MelSpectrogram(f_min=10.0, f_max=5.0)
        A.MelSpectrogram(f_max=-1.0)
        A.MelSpectrogram(pad=-1)
        A.MelSpectrogram(n_mels=-1)
        A.MelSpectrogram(window='a')
        A.MelSpectrogram(power=0.0)
        A.MelSpectrogram(normalized=1)
        A.MelSpectrogram(center='a')
        A.MelSpectrogram(pad_mode=1)
        A.MelSpectrogram(onesided=1)
        A.MelSpectrogram(norm=1)
        A.MelSpectrogram(mel_scale='htk')
        A.MFCC(sample_rate=-1)
        A.MFCC(n_mfcc=-1)
        A.MFCC(n_mfcc=1.5)
        A.MFCC(dct_type=3)
        A.MFCC(norm='ortho')
        A.MFCC(log_mels=1)
        A.MFCC(melkwargs=1)
        A.LFCC(sample_rate=-1)
        A.LFCC(n_filter=0)
        A.LFCC(n_lfcc=0)
        A.LFCC(f_min=-1.0)
        A.LFCC(f_min=9000.0)
        A.LFCC(f_min=10.0, f_max=5.0)
        A.LFCC(dct_type='a')
        A.LFCC(norm=None)
        A.LFCC(log_lf='a')
        A.LFCC(speckwargs=1)
        A.InverseMelScale(0)
        A.InverseMelScale('a')
        A.InverseMelScale(21, n_mels=0)
        A.InverseMelScale(21, sample_rate=0)
        A.InverseMelScale(21, f_min=9000)
        A.InverseMelScale(21, f_min=10, f_max=5)
        A.InverseMelScale(21, max_iter=0)
        A.InverseMelScale(21, tolerance_loss=0)
        A.InverseMelScale(21, tolerance_change='a')
        A.InverseMelScale(21, sgdargs={'sgd_lr': -1, 'sgd_momentum': 0.9})
        A.InverseMelScale(21, sgdargs={'sgd_lr': 0.1, 'sgd_momentum': 'a'})
        A.InverseMelScale(21, norm=1)
        A.InverseMelScale(21, mel_type=1)
        """,
        "-",
    ),
]

WRONG = "MindSpore takes float64 for float32"
RULES: list[Rule] = [
    Near(r"MelScale.*\(power64\)$", 1e-7, "filter banks are float32, and their last bit may differ"),
    Better(r"(MelSpectrogram|[LM]FCC)\(.*64\)$", WRONG),
    Better(r"MelSpectrogram.*\(inf\)$", "where infinities meet there are NaNs, at more places"),
    Better(
        r"(MelSpectrogram|MFCC)\(.*\((scalar)\)$", "MindSpore crashes", raises="not in shape of <..., time>"
    ),
    Better(r"LFCC.*\((scalar|text)\)$", "MindSpore names Spectrogram", raises="LFCC: input tensor"),
    Better(r"onesided=False\)\(chirp\)$", "MindSpore aborts"),
    Better(
        r"MFCC\(.*\((stereo|text|batch4)\)$",
        "MindSpore names MelSpectrogram",
        raises="MFCC: Padding size should be less",
    ),
    Better(r"mel_scale='htk'", "MindSpore says mel_type", raises="Argument mel_scale with value htk"),
    Drawn(r"InverseMelScale.*\(mels(64)?\)$"),
]
