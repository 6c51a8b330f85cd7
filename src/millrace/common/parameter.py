"""Parameters."""

from millrace.tensor.parameter import Parameter, ParameterTuple

__all__ = ["Parameter", "ParameterTuple"]
