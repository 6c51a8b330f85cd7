"""Types of operations for stubs: the bodies of operations have tensors of PyTorch, users have tensors of Millrace."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from .declarations import Source

__all__ = ["class_stub", "function_stub", "find_operation"]

# Names that mean the same in a stub as in the module of an operation.
_KNOWN = frozenset({"Any", "Callable", "Iterable", "Literal", "Mapping", "Sequence", "Tensor", "bool", "bytes",
                    "complex", "dict", "float", "int", "list", "object", "str", "tuple"})  # fmt: skip
_ATTRIBUTES = {"torch.Tensor": "Tensor", "mstype.DType": "DType"}
_MAX_ALIASES = 8


def find_operation(
    sources: Mapping[str, Source], module: str, name: str
) -> tuple[Source, ast.FunctionDef] | None:
    """The function under ``@op`` that a name stands for; aliases and imports are followed."""
    for _ in range(_MAX_ALIASES):
        source = sources.get(module)
        if source is None:
            return None
        step: tuple[str, str] | None = None
        for node in source.tree.body:
            match node:
                case ast.FunctionDef() if node.name == name:
                    return (source, node) if _is_operation(node) else None
                case ast.Assign(targets=[ast.Name(id=target)], value=ast.Name(id=other)) if target == name:
                    step = (module, other)
                case ast.ImportFrom():
                    for alias in node.names:
                        if (alias.asname or alias.name) == name:
                            step = (_absolute(module, node), alias.name)
        if step is None:
            return None
        module, name = step
    return None


def _absolute(module: str, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    package = module.rsplit(".", node.level)[0]
    return f"{package}.{node.module}" if node.module else package


def _is_operation(node: ast.FunctionDef) -> bool:
    return any(
        isinstance(decorator, ast.Call) and isinstance(decorator.func, ast.Name) and decorator.func.id == "op"
        for decorator in node.decorator_list
    )


def function_stub(source: Source, node: ast.FunctionDef, name: str) -> str:
    """The definition of an operation: its parameters with the types that users pass, and its first sentence."""
    also = _other_keywords(node)
    arguments = node.args
    parts: list[str] = []
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(positional) - len(arguments.defaults)) + list(arguments.defaults)
    for number, (argument, default) in enumerate(zip(positional, defaults, strict=True), 1):
        parts.append(_parameter(source, argument, default))
        if number == len(arguments.posonlyargs):
            parts.append("/")
    if arguments.vararg is not None:
        parts.append(f"*{arguments.vararg.arg}: {annotation(source, arguments.vararg.annotation)}")
    elif arguments.kwonlyargs:
        parts.append("*")
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        parts.append(_parameter(source, argument, default))
    if arguments.kwarg is not None:
        parts.append(f"**{arguments.kwarg.arg}: {annotation(source, arguments.kwarg.annotation)}")
    elif also:  # other spellings of its keywords
        return _definition(
            name, "*args: Any, **kwargs: Any", annotation(source, node.returns), _sentence(node)
        )
    return _definition(name, ", ".join(parts), annotation(source, node.returns), _sentence(node))


def _definition(name: str, parameters: str, returned: str, sentence: str, indent: str = "") -> str:
    return f"{indent}def {name}({parameters}) -> {returned}:{sentence}"


def _other_keywords(node: ast.FunctionDef) -> bool:
    return any(
        keyword.arg == "also"
        for decorator in node.decorator_list
        if isinstance(decorator, ast.Call)
        for keyword in decorator.keywords
    )


def _sentence(node: ast.FunctionDef | ast.ClassDef) -> str:
    text = (
        (ast.get_docstring(node) or "")
        .split("\n\n")[0]
        .replace("\n", " ")
        .replace("\\", "\\\\")
        .replace('"""', "'''")
    )
    return f'\n    """{text}{" " if text.endswith(chr(34)) else ""}"""' if text else " ..."


def _parameter(source: Source, argument: ast.arg, default: ast.expr | None) -> str:
    text = f"{argument.arg}: {annotation(source, argument.annotation)}"
    return text if default is None else f"{text} = {_default(default)}"


def _default(node: ast.expr) -> str:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError):
        return "..."
    return ast.unparse(node)


def annotation(source: Source, node: ast.expr | None) -> str:
    """An annotation of a body as users see it; ``Any`` where it names something internal."""
    text = None if node is None else _translate(source, node, 0)
    return "Any" if text is None else text


def _translate(source: Source, node: ast.expr, depth: int) -> str | None:
    match node:
        case ast.Constant(value=None | bool() | int() | str()) if not isinstance(node.value, str):
            return repr(node.value)
        case ast.Constant(value=str() as text):
            return _translate(source, ast.parse(text, mode="eval").body, depth)
        case ast.Constant():
            return "..." if node.value is ... else None
        case ast.Name(id=name) if name in _KNOWN:
            return name
        case ast.Name(id=name) if depth < _MAX_ALIASES:
            for statement in source.tree.body:
                if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == name:
                    return _translate(source, statement.value, depth + 1)
            return None
        case ast.Attribute():
            return _ATTRIBUTES.get(ast.unparse(node))
        case ast.BinOp(op=ast.BitOr()):
            left, right = _translate(source, node.left, depth), _translate(source, node.right, depth)
            return None if left is None or right is None else f"{left} | {right}"
        case ast.Subscript(value=ast.Name(id="Annotated"), slice=ast.Tuple(elts=[first, *_])):
            return _translate(source, first, depth)
        case ast.Subscript(value=ast.Name(id="Literal")):
            return ast.unparse(node)
        case ast.Subscript():
            inside = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            outer = _translate(source, node.value, depth)
            parts = [_translate(source, part, depth) for part in inside]
            if outer is None or any(part is None for part in parts):
                return None
            return f"{outer}[{', '.join(part or '' for part in parts)}]"
        case ast.List():
            parts = [_translate(source, part, depth) for part in node.elts]
            return (
                None
                if any(part is None for part in parts)
                else f"[{', '.join(part or '' for part in parts)}]"
            )
    return None


def class_stub(sources: Mapping[str, Source], module: str, name: str, call: ast.Call) -> str:
    """The class that ``primitive(name, function, init, call, unused, **defaults)`` makes."""
    signatures = _class_signatures(sources, module, call) if _called(call) == "primitive" else None
    init, arguments, returned = signatures or (
        "*args: Any, **kwargs: Any",
        "*args: Any, **kwargs: Any",
        "Any",
    )
    ours = ", ".join(part for part in ("self", init) if part)
    theirs = ", ".join(part for part in ("self", arguments) if part)
    return (
        f"class {name}(Primitive):\n    def __init__({ours}) -> None: ...\n"
        f"    def __call__({theirs}) -> {returned}: ..."
    )


def _called(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _class_signatures(
    sources: Mapping[str, Source], module: str, call: ast.Call
) -> tuple[str, str, str] | None:
    """Parameters of the constructor and of the call, and what the call returns; None where they are computed."""
    if len(call.args) < 2 or not isinstance(call.args[1], ast.Name):
        return None
    operation = find_operation(sources, module, call.args[1].id)
    if operation is None:
        return None
    source, node = operation
    try:
        given = dict(zip(("init", "call", "unused"), map(ast.literal_eval, call.args[2:]), strict=False))
        for keyword in call.keywords:
            if keyword.arg is None:
                return None
            if keyword.arg in ("init", "call", "unused"):
                given[keyword.arg] = ast.literal_eval(keyword.value)
    except ValueError:
        return None
    if node.args.vararg is not None or node.args.kwarg is not None:
        return None
    defaults = {keyword.arg: keyword.value for keyword in call.keywords}
    positional = [*node.args.posonlyargs, *node.args.args]
    known = dict(zip([a.arg for a in reversed(positional)], reversed(node.args.defaults), strict=False))
    known |= {
        a.arg: d for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if d is not None
    }
    parameters = {a.arg: a for a in [*positional, *node.args.kwonlyargs]}
    tensors = [
        n for n, a in parameters.items() if a.annotation is not None and "Tensor" in ast.unparse(a.annotation)
    ]
    init = given.get("init")
    options = [n for n in parameters if n not in tensors] if init is None else list(init)
    taken = given.get("call")
    names = [n for n in parameters if n not in options] if taken is None else list(taken)
    if not set(options) | set(names) <= set(parameters):
        return None
    made = [(parameters[n], defaults.get(n, known.get(n))) for n in options]
    constructor = _without_gaps(source, made)
    constructor += [f"{n}: Any = ..." for n in given.get("unused") or {}]
    calls = _without_gaps(source, [(parameters[n], known.get(n)) for n in names])
    return ", ".join(constructor), ", ".join(calls), annotation(source, node.returns)


def _without_gaps(source: Source, parameters: list[tuple[ast.arg, ast.expr | None]]) -> list[str]:
    """Parameters in their order; after one with a default, each has one."""
    texts, optional = [], False
    for argument, default in parameters:
        text = f"{argument.arg}: {annotation(source, argument.annotation)}"
        optional = optional or default is not None
        texts.append(f"{text} = {'...' if default is None else _default(default)}" if optional else text)
    return texts
