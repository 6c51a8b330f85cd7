"""Parameters."""

from millrace._src.runtime.tensor.parameter import Parameter, ParameterTuple

__all__ = ["Parameter", "ParameterTuple"]
