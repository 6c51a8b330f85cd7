"""The instruction sets and thread counts that `make isa` runs the tests under: environment variables, by name."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["SHORT", "environments"]

# The part of `make isa` that every test run includes.
SHORT = ("as it is", "OpenBLAS Haswell, 1 thread", "NumPy without AVX2", "OpenCV without AVX2")

# What numpy calls the features of these instruction sets, in releases with and without the levels X86_V3 and X86_V4.
_AVX512 = ("AVX512", "X86_V4")
_AVX2 = (*_AVX512, "AVX2", "FMA", "X86_V3")


def environments() -> dict[str, dict[str, str]]:
    """The variables of each setting. Settings that this processor or this numpy has no use for are omitted."""
    settings = {
        "as it is": {},
        "OpenBLAS Haswell": {"OPENBLAS_CORETYPE": "Haswell"},
        "OpenBLAS SkylakeX": {"OPENBLAS_CORETYPE": "SkylakeX"},
        "OpenBLAS Zen": {"OPENBLAS_CORETYPE": "Zen"},
        "OpenBLAS Haswell, 1 thread": {"OPENBLAS_CORETYPE": "Haswell", "OPENBLAS_NUM_THREADS": "1"},
        "OpenBLAS, 1 thread": {"OPENBLAS_NUM_THREADS": "1"},
        "OpenBLAS, 2 threads": {"OPENBLAS_NUM_THREADS": "2"},
        "NumPy without AVX-512": _without(_AVX512),
        "NumPy without AVX2": _without(_AVX2),
        "oneDNN SSE4.1": {"ONEDNN_MAX_CPU_ISA": "SSE41", "DNNL_MAX_CPU_ISA": "SSE41"},
        "oneDNN AVX2": {"ONEDNN_MAX_CPU_ISA": "AVX2", "DNNL_MAX_CPU_ISA": "AVX2"},
        "ATen default": {"ATEN_CPU_CAPABILITY": "default"},
        "ATen AVX2": {"ATEN_CPU_CAPABILITY": "avx2"},
        "OpenCV without AVX-512": {"OPENCV_CPU_DISABLE": "AVX512-SKX"},
        "OpenCV without AVX2": {"OPENCV_CPU_DISABLE": "AVX512-SKX,AVX2,FMA3"},
        "OpenCV without IPP": {"OPENCV_IPP": "disabled"},
        "OpenCV with IPP for SSE4.2": {"OPENCV_IPP": "sse42"},
    }
    if not _has_avx512():
        del settings["OpenBLAS SkylakeX"]  # its instructions would not run
    return {name: env for name, env in settings.items() if env is not None}


def _features() -> tuple[dict[str, bool], list[str]]:
    """The features of this processor, and those that numpy has code for."""
    try:
        numpy: Any = importlib.import_module("numpy._core._multiarray_umath")
    except ImportError:  # before numpy 2
        numpy = importlib.import_module("numpy.core._multiarray_umath")
    return numpy.__cpu_features__, list(numpy.__cpu_dispatch__)


def _has_avx512() -> bool:
    present, _ = _features()
    return bool(present.get("AVX512_SKX") or present.get("X86_V4"))


def _without(prefixes: tuple[str, ...]) -> Any:
    """numpy warns of a feature that the processor lacks, and fails for one that it cannot do without."""
    present, dispatched = _features()
    names = [name for name in dispatched if name.startswith(prefixes) and present.get(name)]
    return {"NPY_DISABLE_CPU_FEATURES": " ".join(names)} if names else None
