"""Mixed precision, under MindSpore's path: ``from millrace import amp``."""

from __future__ import annotations

from millrace.core.lazy import lazy as _lazy

_PLACES = {
    "millrace.train.mixed_precision.levels": ("auto_mixed_precision", "custom_mixed_precision"),
    "millrace.train.mixed_precision.lists": ("get_black_list", "get_white_list"),
    "millrace.train.mixed_precision.managers": (
        "DynamicLossScaleManager",
        "FixedLossScaleManager",
        "LossScaleManager",
    ),
    "millrace.train.mixed_precision.networks": ("build_train_network",),
    "millrace.train.mixed_precision.scalers": (
        "DynamicLossScaler",
        "LossScaler",
        "StaticLossScaler",
        "all_finite",
    ),
}
_LAZY = {name: place for place, names in _PLACES.items() for name in names}
__all__ = list(_LAZY)

__getattr__ = _lazy(__name__, _LAZY)
