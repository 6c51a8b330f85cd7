"""gRPC server with the services of the Open Inference Protocol and of MindSpore Serving."""
