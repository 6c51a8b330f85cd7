"""CUDA Graphs: a captured step on a GPU is recorded once and launched as one graph."""

from __future__ import annotations

from collections.abc import Callable

import torch

from millrace._src.runtime.tensor.rollback import rollback

from .program import Program

__all__ = ["capture_cuda_graph"]

Run = Callable[[list[torch.Tensor]], list[torch.Tensor]]


def capture_cuda_graph(program: Program, like: list[torch.Tensor]) -> Run:
    """The program as a CUDA Graph, or the program itself if its tensors are not all on one device."""
    everything = [*like, *program.external_tensors]
    devices = {tensor.device for tensor in everything if tensor.dim() or tensor.is_cuda}
    if len(devices) != 1 or next(iter(devices)).type != "cuda":
        return program
    static_inputs = [tensor.clone() for tensor in like]
    graph = torch.cuda.CUDAGraph()
    try:
        torch.cuda.synchronize()
        # memory cached for the main stream is not available to the side stream, which would allocate as much again
        torch.cuda.empty_cache()
        with rollback(program.external_tensors):
            warmup_stream = torch.cuda.Stream()
            warmup_stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(warmup_stream):
                program(static_inputs)  # warm-up: libraries initialize
            torch.cuda.current_stream().wait_stream(warmup_stream)
            # only this thread is restricted during the capture: the thread of a data sink allocates and waits meanwhile
            with torch.cuda.graph(graph, capture_error_mode="thread_local"):
                static_outputs = program(static_inputs)
    except RuntimeError as error:
        program.cuda_graph_failure = str(error).partition("\n")[0]
        return program

    def run(tensors: list[torch.Tensor]) -> list[torch.Tensor]:
        for static_input, tensor in zip(static_inputs, tensors, strict=True):
            static_input.copy_(tensor)
        graph.replay()
        # the next launch overwrites the same memory, so the user gets copies
        return [tensor.clone() for tensor in static_outputs]

    return run
