"""Declaration of operations: registry, primitives, dtype rules, argument helpers."""
