"""ASGI application for the Open Inference Protocol and the REST protocol of MindSpore Serving."""
