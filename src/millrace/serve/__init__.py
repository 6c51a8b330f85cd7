"""A trained model behind HTTP and gRPC: ``millrace serve``, and the same from Python.

``Servable`` declares a model with the transforms before and after it, ``Config`` a server, ``start`` runs one in a
thread, ``start_on_ray`` one in replicas on Ray Serve, ``make_app`` gives its ASGI application, ``Client`` asks one.
"""

from __future__ import annotations

from millrace._src.core.lazy import lazy as _lazy

__all__ = ["ArgMax", "Client", "Config", "Labels", "Servable", "Softmax", "make_app", "start", "start_on_ray"]

# A client waits for neither PyTorch nor the libraries of a server.
__getattr__ = _lazy(
    __name__,
    {
        "ArgMax": "millrace._src.serve.postprocessing",
        "Client": "millrace._src.serve.client",
        "Config": "millrace._src.serve.config",
        "Labels": "millrace._src.serve.postprocessing",
        "Servable": "millrace._src.serve.servable",
        "Softmax": "millrace._src.serve.postprocessing",
        "make_app": "millrace._src.serve.http.app",
        "start": "millrace._src.serve.server",
        "start_on_ray": "millrace._src.serve.ray.deployment",
    },
)
