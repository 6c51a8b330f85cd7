"""A trained model behind HTTP and gRPC: ``millrace serve``, and the same from Python.

``Servable`` declares a model with the transforms before and after it, ``Config`` a server, ``start`` runs one in a
thread, ``start_on_ray`` one in replicas on Ray Serve, ``make_app`` gives its ASGI application, ``Client`` asks one.
"""

from __future__ import annotations

from millrace.core.lazy import lazy as _lazy

__all__ = ["ArgMax", "Client", "Config", "Labels", "Servable", "Softmax", "make_app", "start", "start_on_ray"]

# A client waits for neither PyTorch nor the libraries of a server.
__getattr__ = _lazy(
    __name__,
    {
        "ArgMax": "millrace.serve.after",
        "Client": "millrace.serve.client",
        "Config": "millrace.serve.config",
        "Labels": "millrace.serve.after",
        "Servable": "millrace.serve.servable",
        "Softmax": "millrace.serve.after",
        "make_app": "millrace.serve.http.app",
        "start": "millrace.serve.server",
        "start_on_ray": "millrace.serve.ray.running",
    },
)
