"""The server and the models of the tests of serving."""

from tests.unit.serve.conftest import ask, certificate, files, server

__all__ = ["ask", "certificate", "files", "server"]
