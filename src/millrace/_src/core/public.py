"""Declaration of public names: where users import a definition from.

A definition is declared public where it is written::

    @public("dataset.vision", "dataset.vision.c_transforms:Decode")
    class Decode: ...


    export_names(__name__, "common.dtype", "int8", byte="int8")

A path is a public module without ``millrace.`` (the package itself is ``millrace``); ``module:name`` gives another name
there. The generator of the public modules reads these declarations from the syntax tree. At run time a declaration
sets ``__module__`` to the first path, so that ``repr``, pickles and ``help`` show where users import the object from.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any, ForwardRef, NamedTuple, TypeVar

__all__ = [
    "Declaration",
    "declaration_of",
    "declare",
    "definition_module",
    "export_names",
    "module_of_path",
    "public",
]

ROOT = "millrace"
# A face of operations that is no module: the methods of the class Tensor.
METHODS = "Tensor"

Definition = TypeVar("Definition", bound=Any)


class Declaration(NamedTuple):
    """Where a public class or function is defined, and the public paths that it has."""

    module: str
    paths: tuple[str, ...]


# (``__module__``, ``__qualname__``) of a declared class or function -> its declaration.
_declarations: dict[tuple[str, str], Declaration] = {}


def module_of_path(path: str) -> str:
    """The full name of the module of a public path.

    >>> module_of_path("dataset.vision:Decode"), module_of_path("millrace")
    ('millrace.dataset.vision', 'millrace')
    """
    module = path.partition(":")[0]
    return ROOT if module == ROOT else f"{ROOT}.{module}"


def public(*paths: str, unlisted: tuple[str, ...] = ()) -> Callable[[Definition], Definition]:
    """Declare a class or function public. The first path is the canonical one.

    Args:
        paths: public modules, or ``module:name`` where the name differs there.
        unlisted: paths of modules that have the name, but not in ``__all__``.
    """

    def mark(definition: Definition) -> Definition:
        declare(definition, *paths, *unlisted)
        return definition

    return mark


def declare(definition: Any, *paths: str) -> None:
    """Set ``__module__`` of a class or function to its canonical public module."""
    known = declaration_of(definition)
    if known is not None:
        _declarations[definition.__module__, definition.__qualname__] = known._replace(
            paths=known.paths + paths
        )
        return
    defined_in, name = definition.__module__, definition.__qualname__
    canonical = next((path for path in paths if path != METHODS and _name_there(path, name) == name), None)
    if canonical is not None:
        definition.__module__ = module_of_path(canonical)
        if isinstance(definition, type):
            _bind_annotations(definition, defined_in)
        # a module that is not loaded would make cloudpickle copy the class instead of naming it
        if definition.__module__ not in sys.modules:
            importlib.import_module(definition.__module__)
    _declarations[definition.__module__, name] = Declaration(defined_in, paths)


def _name_there(path: str, name: str) -> str:
    """The public name that a path gives."""
    return path.partition(":")[2] or name


def _bind_annotations(definition: type, module: str) -> None:
    """Let ``typing.get_type_hints`` resolve annotations of attributes where the class is defined."""
    annotations = vars(definition).get("__annotations__") or {}  # not a copy
    for name, annotation in annotations.items():
        if isinstance(annotation, str):
            annotations[name] = ForwardRef(annotation, is_argument=False, module=module, is_class=True)


def export_names(module: str, path: str, *names: str, unlisted: bool = False, **renamed: str) -> None:
    """Declare names of a module public: ``export_names(__name__, "ops", "tensor_add", eq="equal")``.

    The table for values, aliases and modules with many definitions; it stands below what it names. Classes and
    functions that the module defines are declared as by ``public``.

    Args:
        module: the module that has the names.
        path: the public module.
        names: names that are the same there.
        unlisted: whether ``__all__`` of the public module omits them.
        renamed: public name -> name in ``module``.
    """
    if module.partition(".")[0] != ROOT:
        return  # a name of another library keeps its own module
    values = vars(sys.modules[module])
    for name, attribute in {**{name: name for name in names}, **renamed}.items():
        value = values.get(attribute)
        named = isinstance(value, (type, FunctionType)) and value.__qualname__ == attribute
        if named and definition_module(value) == module:
            declare(value, path if name == attribute else f"{path}:{name}")


def declaration_of(definition: Any) -> Declaration | None:
    """The declaration of a public class or function; None if there is none."""
    module, name = getattr(definition, "__module__", None), getattr(definition, "__qualname__", None)
    return _declarations.get((module, name)) if module and name else None


def definition_module(definition: Any) -> str:
    """The module whose source defines a class or function, public or not.

    >>> from millrace._src.core.random.shuffle import Shuffle
    >>> definition_module(Shuffle)
    'millrace._src.core.random.shuffle'
    """
    declared = declaration_of(definition)
    return declared.module if declared is not None else definition.__module__
