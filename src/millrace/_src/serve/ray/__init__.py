"""Scale-out on Ray Serve: the server's ASGI application in replicas, behind Ray Serve's HTTP proxies.

Replicas, their placement and number, rolling updates and the replacement of lost ones are Ray Serve's. Ours are
the application, its plain description on the way to the nodes, and what concerns all replicas at once.
"""
