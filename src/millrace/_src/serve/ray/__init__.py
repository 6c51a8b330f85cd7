"""Scale-out on Ray Serve: the server's ASGI application in replicas, behind Ray Serve's HTTP proxies.

Ray Serve manages replicas: placement, number, rolling updates, replacement of lost ones. This package has the
application, its serialized configuration, and operations on all replicas.
"""
