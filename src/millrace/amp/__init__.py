"""Mixed precision, under MindSpore's path: ``from millrace import amp``."""

from __future__ import annotations

from millrace._src.core.lazy import lazy as _lazy

_PLACES = {
    "millrace._src.train.mixed_precision.amp_levels": ("auto_mixed_precision", "custom_mixed_precision"),
    "millrace._src.train.mixed_precision.cast_lists": ("get_black_list", "get_white_list"),
    "millrace._src.train.mixed_precision.loss_scale_manager": (
        "DynamicLossScaleManager",
        "FixedLossScaleManager",
        "LossScaleManager",
    ),
    "millrace._src.train.mixed_precision.train_network": ("build_train_network",),
    "millrace._src.train.mixed_precision.loss_scaler": (
        "DynamicLossScaler",
        "LossScaler",
        "StaticLossScaler",
        "all_finite",
    ),
}
_LAZY = {name: place for place, names in _PLACES.items() for name in names}
__all__ = list(_LAZY)

__getattr__ = _lazy(__name__, _LAZY)
