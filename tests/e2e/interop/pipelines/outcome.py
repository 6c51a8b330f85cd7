"""Run the text of a pipeline and give what came of it as JSON."""

from __future__ import annotations

from typing import Any

from tests.parity.encode import encode

CAP = 40  # rows of an endless pipeline that are looked at


def outcome(job: dict[str, Any], names: dict[str, Any]) -> dict[str, Any]:
    """Return {"rows", "asked", "ended"}; "ended" is None or the error that stopped it."""
    found: dict[str, Any] = {"rows": [], "asked": {}, "ended": None}
    try:
        data = eval(job["code"], dict(names))  # noqa: S307 - text that we drew ourselves
    except Exception as error:
        return found | {"ended": _error(error), "unbuilt": True}
    for name in job["asked"]:
        try:
            found["asked"][name] = encode(getattr(data, name)())
        except Exception as error:
            found["asked"][name] = _error(error)
    maker = data.create_tuple_iterator if job["tuples"] else data.create_dict_iterator
    try:
        iterator = maker(num_epochs=job["epochs"], output_numpy=True)
        for epoch in range(job["epochs"]):
            for row in iterator:
                found["rows"].append([epoch, encode(row)])
                if len(found["rows"]) >= CAP:
                    return found
    except Exception as error:
        found["ended"] = _error(error)
    return found


def _error(error: Exception) -> dict[str, Any]:
    """Return the built-in classes of an error, and its text."""
    classes = [kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins"]
    return {"error": classes, "message": str(error)[:600]}
