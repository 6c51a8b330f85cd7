"""The actor class of a replica: the application, and operations on all replicas (reload, metrics)."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

from millrace._src.core.errors import MillraceError, ServeError
from millrace._src.core.log import get_logger
from millrace._src.core.optional import require

from .config_serialization import config_from_dict
from .metrics_aggregation import merge_metrics

__all__ = ["Replica", "failure_reason"]

log = get_logger(__name__)

# Marks the error text inside Ray's status message about a replica that failed to start.
_MARK = "millrace-says:"
_STARTING = ("STARTING", "UPDATING", "RECOVERING")
_LOOK = 0.2


def failure_reason(message: str) -> str | None:
    """The error of a failed replica, extracted from Ray's status message.

    >>> failure_reason('... RuntimeError: millrace-says:"no such file" ...')
    'no such file'
    """
    match = re.search(_MARK + r'("(?:[^"\\]|\\.)*")', message)
    return None if match is None else str(json.loads(match[1]))


class Replica:
    """One replica: a Ray actor that runs the application; Ray Serve calls its methods in one event loop."""

    def __init__(self, plain: dict[str, Any]) -> None:
        self._plain = plain
        self._app: Any = None
        self._handle: Any = None
        self._name = ""

    async def __serve_build_asgi_app__(self) -> Any:
        """The application with its models loaded; Ray Serve routes requests here afterwards."""
        self._name = _import_serve().get_replica_context().replica_id.unique_id
        try:
            self._app = await self._loaded()
        except Exception as error:
            text = str(error) if isinstance(error, MillraceError) else f"{type(error).__name__}: {error}"
            log.debug("no start", exc_info=True)
            raise RuntimeError(f"{_MARK}{json.dumps(text)}") from None
        self._app.reload, self._app.counters = self._reload, self._counters
        return self._app

    async def _loaded(self) -> Any:
        from millrace._src.serve.http.app import make_app

        app = make_app(config_from_dict(self._plain))
        try:
            await app.service.start()
        except BaseException:
            await asyncio.to_thread(app.service.close)
            raise
        return app

    async def check_health(self) -> None:
        """Health check of Ray Serve, which replaces a replica that fails."""
        if self._app is not None and not self._app.service.is_live:
            raise RuntimeError("a worker thread has ended")

    # --- called on each replica by broadcast -------------------------------------------------------------

    async def load_model(self, name: str, done: list[str]) -> dict[str, Any]:
        """Reload a model, unless this replica has already reloaded it."""
        if self._name in done:
            return {"replica": self._name, "error": None}
        try:
            await self._app.service.reload(name)
        except Exception as error:
            return {"replica": self._name, "error": str(error)}
        return {"replica": self._name, "error": None}

    async def metrics_text(self) -> dict[str, str]:
        """The metrics of this replica."""
        page = await asyncio.to_thread(self._app.service.metrics.text)
        return {"replica": self._name, "page": page.decode()}

    async def leave(self) -> None:
        """Report that the replica is not ready while it still serves requests."""
        self._app.service.draining = True

    # --- run by one replica for all -----------------------------------------------------------------------

    async def load_everywhere(self, name: str) -> dict[str, Any]:
        """`_reload` for the process that started the server: returns plain values instead of raising errors."""
        try:
            return {"versions": await self._reload(name), "error": None}
        except Exception as error:
            return {"versions": [], "error": str(error)}

    async def _reload(self, name: str) -> list[int]:
        """Reload a model in this replica and, if that succeeds, in all others, starting ones included."""
        versions: list[int] = await self._app.service.reload(name)
        loop, done = asyncio.get_running_loop(), [self._name]
        until = loop.time() + self._app.config.timeout
        while True:
            for reply in await self._broadcast("load_model", name, done):
                if reply["error"] is not None:
                    raise ServeError(
                        f"replica {reply['replica']} could not load it and serves the old one, others serve the new "
                        f"one. Fix the file and reload it: {reply['error']}",
                        500,
                    )
                if reply["replica"] not in done:
                    done.append(reply["replica"])
            states = await asyncio.to_thread(self._states)
            if states.get("RUNNING", 0) <= len(done) and not any(states.get(each) for each in _STARTING):
                return versions
            if loop.time() > until:
                log.warning(
                    "model '%s': %d replicas have reloaded it, and there are %s", name, len(done), states
                )
                return versions
            await asyncio.sleep(_LOOK)

    async def _counters(self) -> bytes:
        """The metrics of all replicas."""
        pages = {
            each["replica"]: each["page"]
            for each in [await self.metrics_text(), *await self._broadcast("metrics_text")]
        }
        return merge_metrics(dict(sorted(pages.items()))).encode()

    async def _broadcast(self, method: str, *args: Any) -> list[Any]:
        """Replies of the running replicas; a replica lost meanwhile has none."""
        if self._handle is None:
            context = _import_serve().get_replica_context()
            self._handle = await asyncio.to_thread(
                _import_serve().get_deployment_handle, context.deployment, context.app_name
            )
        try:
            replies = await self._handle.broadcast(method, *args).results_async(return_exceptions=True)
        except Exception as error:  # the list of running replicas has not arrived yet
            log.debug("%s was not broadcast: %s", method, error)
            return []
        return [each for each in replies if isinstance(each, dict)]

    def _states(self) -> dict[str, int]:
        context = _import_serve().get_replica_context()
        deployed = _import_serve().status().applications[context.app_name].deployments[context.deployment]
        return {
            getattr(state, "value", str(state)): number for state, number in deployed.replica_states.items()
        }


def _import_serve() -> Any:
    return require("ray.serve", extra="rayserve", purpose="serving on Ray")
