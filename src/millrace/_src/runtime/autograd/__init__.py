"""Automatic differentiation: ``grad``, ``value_and_grad``, ``GradOperation``, Jacobians, custom functions."""
