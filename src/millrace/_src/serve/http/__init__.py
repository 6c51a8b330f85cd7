"""The server's HTTP side: an ASGI application for the Open Inference Protocol and for MindSpore Serving's REST."""
