"""A recorded step on a GPU: captured once as a CUDA Graph, launched as one from then on."""

from __future__ import annotations

from collections.abc import Callable

import torch

from millrace._src.runtime.tensor.rollback import rollback

from .program import Program

__all__ = ["capture_cuda_graph"]

Run = Callable[[list[torch.Tensor]], list[torch.Tensor]]


def capture_cuda_graph(program: Program, like: list[torch.Tensor]) -> Run:
    """The program as a CUDA Graph, or as it is where its tensors are not all on one device."""
    everything = [*like, *program.external_tensors]
    devices = {tensor.device for tensor in everything if tensor.dim() or tensor.is_cuda}
    if len(devices) != 1 or next(iter(devices)).type != "cuda":
        return program
    static_inputs = [tensor.clone() for tensor in like]
    graph = torch.cuda.CUDAGraph()
    try:
        torch.cuda.synchronize()
        # what the recorded step has let go of stays with its stream, and the side stream would take as much again
        torch.cuda.empty_cache()
        with rollback(program.external_tensors):
            warmup_stream = torch.cuda.Stream()
            warmup_stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(warmup_stream):
                program(static_inputs)  # libraries set themselves up
            torch.cuda.current_stream().wait_stream(warmup_stream)
            # only this thread must keep from what a capture forbids: a sink's allocates and waits meanwhile
            with torch.cuda.graph(graph, capture_error_mode="thread_local"):
                static_outputs = program(static_inputs)
    except RuntimeError as error:
        program.cuda_graph_failure = str(error).partition("\n")[0]
        return program

    def run(tensors: list[torch.Tensor]) -> list[torch.Tensor]:
        for static_input, tensor in zip(static_inputs, tensors, strict=True):
            static_input.copy_(tensor)
        graph.replay()
        # the next launch writes to the same memory: what the user keeps is a copy
        return [tensor.clone() for tensor in static_outputs]

    return run
