"""Ways to train with less work, under MindSpore's path: ``from millrace import boost``."""

from __future__ import annotations

from millrace._src.core.lazy import lazy as _lazy

_PLACES = {
    "millrace._src.compat.boost.gradient_accumulation": ("GradientAccumulation",),
    "millrace._src.compat.boost.auto_boost": (
        "AutoBoost",
        "BoostTrainOneStepCell",
        "BoostTrainOneStepWithLossScaleCell",
    ),
    "millrace._src.compat.boost.gradient_freeze": ("FreezeOpt", "GradientFreeze", "freeze_cell"),
    "millrace._src.compat.boost.less_bn": ("LessBN",),
    "millrace._src.compat.boost.optimizer_groups": ("OptimizerProcess", "ParameterProcess"),
    "millrace._src.compat.boost.unsupported": ("AdaSum", "DimReduce", "GroupLossScaleManager"),
}
_LAZY = {name: place for place, names in _PLACES.items() for name in names}
__all__ = sorted(_LAZY)

__getattr__ = _lazy(__name__, _LAZY)
