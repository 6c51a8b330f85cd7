"""Model server over HTTP and gRPC, and its client."""
