"""Results of every transform under one setting, and how far those of two settings are apart.

    python -m tests.e2e.isa.results FILE [--short]

writes them. `tests/e2e/isa/run.py` compares the files of all settings. `DIFFERENCES` lists what may differ, and why.
"""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from millrace._src.core.random.rng import RandomStream
from tests.contracts.transforms.bit_examples import ALL, arguments

__all__ = ["DIFFERENCES", "Difference", "compare", "compute"]

ROWS = 7

Rows = list[tuple[np.ndarray, ...]]


class Difference(NamedTuple):
    """How far results may be apart between processors, and why.

    ``within`` is a share of the largest magnitude of a floating-point result, and levels of an integer one.
    """

    within: float
    reason: str


_SVML = "NumPy computes powers, exponentials, logarithms and angles with other code on AVX-512 than elsewhere"
_FFT = "NumPy's Fourier transform uses fused multiply-add where the processor has it"
_CV = "OpenCV uses fused multiply-add where the processor has it, and Intel's IPP on x86-64"
_BLAS = "BLAS sums in an order that depends on the processor"

# By the name of a transform; a variant ("Resize, float") has an entry of its own where it needs one.
DIFFERENCES: dict[str, Difference] = {
    # vision: 8-bit results differ by at most one level
    **dict.fromkeys(
        (
            "AdjustContrast",
            "AdjustHue",
            "AdjustSaturation",
            "AdjustSharpness",
            "Affine",
            "AutoAugment",
            "BoundingBoxAugment",
            "GaussianBlur",
            "Perspective",
            "RandAugment",
            "RandomAdjustSharpness",
            "RandomAffine",
            "RandomChoice",
            "RandomColor",
            "RandomColorAdjust",
            "RandomCropDecodeResize",
            "RandomResize",
            "RandomResizeWithBBox",
            "RandomResizedCrop",
            "RandomResizedCropWithBBox",
            "RandomRotation",
            "RandomSelectSubpolicy",
            "RandomSharpness",
            "Resize",
            "ResizeWithBBox",
            "ResizedCrop",
            "Rotate",
            "TrivialAugmentWide",
            "UniformAugment",
        ),
        Difference(1, _CV),
    ),
    "AdjustContrast, float": Difference(1e-6, _CV),
    "ConvertColor, float": Difference(1e-6, _CV),
    "GaussianBlur, float": Difference(1e-6, _CV),
    "Resize, float": Difference(1e-5, _CV),
    "AdjustGamma, float": Difference(1e-7, _SVML + "; rounded from float64, so that few values differ"),
    "RandomLighting, float": Difference(1e-7, _SVML + "; rounded from float64, so that few values differ"),
    # audio
    **dict.fromkeys(
        ("AmplitudeToDB", "Angle", "ComplexNorm", "DBToAmplitude", "Magphase", "MuLawDecoding", "Contrast"),
        Difference(1e-6, _SVML),
    ),
    **dict.fromkeys(("Fade", "Flanger"), Difference(1e-6, _SVML)),
    **dict.fromkeys(("PhaseVocoder", "TimeStretch", "PitchShift"), Difference(1e-5, _SVML + "; " + _FFT)),
    **dict.fromkeys(
        ("GriffinLim", "InverseMelScale"), Difference(1e-4, _FFT + "; errors grow from step to step")
    ),
    **dict.fromkeys(
        ("LFCC", "MFCC", "MelScale", "MelSpectrogram", "Resample", "Spectrogram", "SpectralCentroid"),
        Difference(1e-5, f"{_FFT}; {_BLAS}"),
    ),
    "InverseSpectrogram": Difference(1e-6, _FFT),
}

# Of these a few run in every test run.
SHORT = (
    "LinearTransformation, dense",
    "Perspective, large",
    "RandomPerspective, large",
    "Affine, large",
    "RandomLighting",
    "Normalize, float",
    "Resize, large",
    "AdjustSaturation, large",
    "ToVectors",
    "MelSpectrogram, long",
    "Resample, long",
)


def difference_of(name: str) -> Difference | None:
    return DIFFERENCES.get(name) or DIFFERENCES.get(name.partition(",")[0])


def compute(names: Any = tuple(ALL)) -> dict[str, Rows]:
    """Some rows of each transform, one by one."""
    results = {}
    for name in names:
        operation = ALL[name].make()
        rows = []
        for i in range(ROWS):
            ids = np.array([i], np.uint64)
            draws = RandomStream.for_rows(ids, seed=5, epoch=0, op=1) if operation.random else None
            row = operation.row_function(draws)(0, *arguments(ALL[name].inputs, i))
            rows.append(tuple(np.asarray(part) for part in (row if type(row) is tuple else (row,))))
        results[name] = rows
    return results


def _far(one: np.ndarray, two: np.ndarray) -> float:
    if (one.dtype.kind, one.shape) != (two.dtype.kind, two.shape):
        return float("inf")
    if one.dtype.kind in "USO":
        return 0.0 if np.array_equal(one, two) else float("inf")
    if one.tobytes() == two.tobytes():
        return 0.0
    left, right = one.astype(np.float64), two.astype(np.float64)
    if not np.array_equal(np.isfinite(left), np.isfinite(right)):
        return float("inf")
    finite = np.isfinite(left)
    far = float(np.abs(left - right)[finite].max(initial=0.0))
    scale = float(np.abs(left)[finite].max(initial=0.0)) if one.dtype.kind == "f" else 1.0
    return max(far / scale if scale else far, np.finfo(np.float64).tiny)


def compare(one: dict[str, Rows], two: dict[str, Rows]) -> dict[str, float]:
    """How far each transform's results are apart, where their bits differ."""
    apart = {}
    for name in one:
        pairs = [pair for rows in zip(one[name], two[name], strict=True) for pair in zip(*rows, strict=True)]
        far = max((_far(left, right) for left, right in pairs), default=0.0)
        if far:
            apart[name] = far
    return apart


def beyond(apart: dict[str, float]) -> dict[str, float]:
    """Those that differ and should not, or by more than they may."""
    return {
        name: far for name, far in apart.items() if far > (difference_of(name) or Difference(0, "")).within
    }


def main(given: list[str]) -> int:
    names = SHORT if "--short" in given else tuple(ALL)
    Path(given[0]).write_bytes(pickle.dumps(compute(names)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
