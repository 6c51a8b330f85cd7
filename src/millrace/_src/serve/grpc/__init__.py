"""The server's gRPC side: the Open Inference Protocol's service and MindSpore Serving's."""
