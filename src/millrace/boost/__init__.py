"""Ways to train with less work, under MindSpore's path: ``from millrace import boost``."""

from __future__ import annotations

from millrace.core.lazy import lazy as _lazy

_PLACES = {
    "millrace.train.boost.accumulation": ("GradientAccumulation",),
    "millrace.train.boost.auto": ("AutoBoost", "BoostTrainOneStepCell", "BoostTrainOneStepWithLossScaleCell"),
    "millrace.train.boost.freezing": ("FreezeOpt", "GradientFreeze", "freeze_cell"),
    "millrace.train.boost.less_bn": ("LessBN",),
    "millrace.train.boost.processes": ("OptimizerProcess", "ParameterProcess"),
    "millrace.train.boost.unavailable": ("AdaSum", "DimReduce", "GroupLossScaleManager"),
}
_LAZY = {name: place for place, names in _PLACES.items() for name in names}
__all__ = sorted(_LAZY)

__getattr__ = _lazy(__name__, _LAZY)
