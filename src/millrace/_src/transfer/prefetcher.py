"""``Feed``: prefetch batches of a dataset to a device while the previous step runs.

One thread reads the pipeline into the host ring buffer; another transfers batches to the device ring buffer, from which
steps take them. On a CPU there is one thread and one ring buffer. Batches, ends of epochs and errors pass through the
rings in order, so that an error occurs exactly at its batch.

A prefetcher ends with its data, with an error, on ``close``, or when it is garbage-collected. Its threads reference
only the rings and the iterator; closing these ends the threads.
"""

from __future__ import annotations

import itertools
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any, Protocol, Self, cast

from millrace._src.core.device_queues import TransferCounts, register_queue
from millrace._src.core.errors import DeviceQueueError, SinkEnded, SinkStopped, StallError
from millrace._src.core.log import get_logger
from millrace._src.core.machine.host_allocator import HostAllocator
from millrace._src.core.public import public
from millrace._src.core.settings import override
from millrace._src.core.transfer_statistics import ENDED, STOPPED, TransferStatistics
from millrace._src.core.values.tensor import load_runtime
from millrace._src.observe.transfer_diagnosis import TransferDiagnosis, diagnose_transfer
from millrace._src.runtime.tensor.backend.context import get_context

from .clock import Clock
from .pinned_memory import allocator_for
from .ring_buffer import RingBuffer, RingClosedError, RingItem
from .transfer import BatchTransfer, TransferredBatch, create_transfer, size_of

__all__ = ["DevicePrefetcher", "BatchSource", "create_device_source"]

log = get_logger(__name__)

# Default slots of each ring, and the limit of their bytes.
SLOTS, MOST_BYTES = 8, 256 << 20
# Maximum slots that autotune chooses; the byte limit applies in any case.
MOST_SLOTS = 64
# Seconds of waiting after which a step logs a warning; get_send_info() shows the state at any time.
PATIENCE = 30.0
# Seconds that `close` waits for a thread inside the pipeline or the driver.
GRACE = 0.5

_numbers = itertools.count(1)


class BatchSource(Protocol):
    """Iterator of batches: StopIteration at the end of each epoch, then the next epoch."""

    def __next__(self) -> Any: ...
    def state(self) -> Any: ...
    def stop(self) -> None: ...


class _End:
    """End of an epoch, with the state of the pipeline after it."""

    def __init__(self, state: Any) -> None:
        self.state = state


@public("transfer")
class DevicePrefetcher:
    """Prefetcher of batches to a device; each ``for`` loop is one epoch.

    >>> import millrace.dataset as ds
    >>> data = ds.NumpySlicesDataset({"x": [1.0, 2.0, 3.0]}, shuffle=False).batch(2)
    >>> with DevicePrefetcher(data.create_tuple_iterator(num_epochs=2), epochs=2) as feed:
    ...     [[batch[0].asnumpy().tolist() for batch in feed] for _ in range(2)]
    [[[1.0, 2.0], [3.0]], [[1.0, 2.0], [3.0]]]
    """

    def __init__(
        self,
        source: BatchSource,
        *,
        epochs: int = -1,
        device: str = "cpu",
        name: str = "",
        slots: int = SLOTS,
        most_bytes: int = MOST_BYTES,
        states: bool = False,
        at: Any = None,
        patience: float = PATIENCE,
        whole: int | None = None,
        mover: BatchTransfer | None = None,
        clock: Clock | None = None,
    ) -> None:
        load_runtime()
        if at is not None and epochs > 0:
            epochs -= int(at["epoch"])  # minus the epochs before the state that the source resumes from
        self.channel = TransferStatistics(name or f"sink-{next(_numbers)}", device)
        self.channel.total_batches, self.channel.report = whole, getattr(source, "report", None)
        self._patience = patience
        # clock for steps, pipeline and transfer
        self._clock = clock = clock or Clock()
        moved = device != "cpu" or mover is not None
        self._mover = mover or create_transfer(device, getattr(source, "device_work", None))
        host, ready = RingBuffer(slots, most_bytes, clock), RingBuffer(slots, most_bytes, clock)
        self._ring, self._host = ready, host if moved else None
        self._pipeline_stats = getattr(source, "stats", None)
        offer = getattr(source, "_register_knob", None)
        if offer is not None:  # autotune chooses the number of slots if it is enabled
            offer(f"ring of {self.channel.name}", slots, 1, MOST_SLOTS, _Resize([host, ready]))
        work = _PipelineReader(source, epochs, states, self.channel, host if moved else ready, clock)
        self._finite = epochs >= 0
        self._gate = work.gate
        work.mover = None if moved else self._mover
        threads: list[Callable[[], None]] = [work.pull if moved else work.pull_and_send]
        if moved:
            threads.append(_Transferrer(self._mover, self.channel, host, ready, clock))
        started = [
            threading.Thread(target=each, name=f"{self.channel.name}-{number}", daemon=True)
            for number, each in enumerate(threads)
        ]
        self._state = at
        self._since: float | None = None
        register_queue(self.channel.name, self)
        self._finalizer = weakref.finalize(
            self, _close, [host, ready], source, started, self.channel, self._gate
        )
        for thread in started:
            thread.start()

    # consumer ---------------------------------------------------------------------------------------

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> list[Any]:
        batch = self.take()
        if batch is None:
            raise StopIteration
        return batch

    def take(self, timeout: float | None = None) -> list[Any] | None:
        """The values of the next batch; None at the end of an epoch.

        Raises StallError after `timeout` seconds (default: ``set_context(op_timeout=...)``).
        """
        requested_at = self._clock.now()
        if self._mover.idle is not None:
            self._mover.idle.mark_request()
        item = self._wait(timeout)
        now = self._clock.now()
        value = item.value
        if isinstance(value, BaseException):
            self._finalizer()
            raise value
        if isinstance(value, _End):
            self._state = value.state or self._state
            return None
        assert isinstance(value, TransferredBatch)
        if self._since is None:
            self.channel.first_wait = (
                now - requested_at
            )  # includes filling the rings and initializing libraries
            self.channel.record_step(0.0, 0.0)
        else:
            self.channel.record_step(now - requested_at, requested_at - self._since)
        self._since = now
        if value.state is not None:
            self._state = value.state
        return self._mover.receive(value)

    def _wait(self, timeout: float | None) -> RingItem:
        began, warned = time.perf_counter(), False
        limit = float(get_context("op_timeout") or "inf") if timeout is None else timeout
        while True:
            try:
                item = self._ring.take(min(self._patience, limit))
            except RingClosedError:
                raise self._over(time.perf_counter() - began) from self.channel.error
            if item is not None:
                return item
            waited = time.perf_counter() - began
            if waited >= limit:
                raise StallError(
                    f"channel {self.channel.name!r}: no batch came within {limit:g} s. "
                    f"{diagnose_transfer(self.channel, waiting=waited)} "
                    "set_context(op_timeout=...) changes the limit, 0 is none."
                    f"\n{self.channel}"
                )
            if not warned:
                warned = True
                log.warning(
                    "a step has waited %.0f s for a batch. %s\n%s",
                    waited,
                    diagnose_transfer(self.channel, waiting=waited),
                    self.channel,
                )

    def _over(self, waited: float) -> DeviceQueueError:
        """Error for a step that requests a batch after the end: which side ended, and the first error."""
        channel = self.channel
        if channel.error is None and channel.ended != ENDED:
            return SinkStopped(
                f"channel {channel.name!r}: {channel.ended} after {channel.sent} batches were sent and "
                f"{channel.taken} taken, and a step requested another one. Take batches before it is released or closed"
            )
        channel.exhausted = True
        error_class = SinkEnded if channel.error is None else DeviceQueueError
        return error_class(
            f"channel {channel.name!r}: a step requested a batch after the end. "
            f"{diagnose_transfer(channel, waiting=waited)}"
        )

    # inspection -------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """Name of the channel."""
        return self.channel.name

    def __len__(self) -> int:
        return len(self._ring)

    def state(self) -> Any:
        """State of the pipeline after the last taken batch (with ``states=True``), to resume from.

        Before the first batch it is the state that the source resumed from.
        """
        return self._state

    def counts(self) -> TransferCounts:
        """Current counters, for progress displays."""
        channel, host = self.channel, self._host
        return TransferCounts(
            channel.name,
            channel.device,
            channel.sent,
            channel.taken,
            channel.sent_bytes,
            0 if host is None else len(host),
            0 if host is None else host.slots,
            len(self._ring),
            self._ring.slots,
            channel.data,
            channel.moving,
            channel.full,
            channel.waited,
            channel.stepping,
            channel.ended,
            self._pipeline_stats,
        )

    def device_time(self) -> dict[str, Any]:
        """Idle and total seconds of the device, if it can measure them."""
        if self._mover.idle is None:
            return {}
        seconds = self._mover.idle.to_dict()
        share = seconds["idle"] / seconds["whole"] if seconds["whole"] else 0.0
        return {"device_seconds": seconds, "device_idle_share": share}

    def diagnosis(self) -> TransferDiagnosis:
        """Diagnosis: what steps wait for, and what to change."""
        return diagnose_transfer(self.channel)

    # control ----------------------------------------------------------------------------------------

    def pause(self) -> None:
        """Pause sending until ``resume``; batches in the rings can still be taken."""
        self._gate.clear()

    def resume(self) -> None:
        """Resume after ``pause``."""
        self._gate.set()

    def close(self, over: bool = False) -> None:
        """Stop the pipeline and the threads, and release all batches. A second call has no effect.

        `over`: all planned steps were made; otherwise remaining batches count as an early stop.
        """
        if self._finite and not over and self._finalizer.alive:
            self.channel.leave()
        self._finalizer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class _Resize:
    """Resize function for both rings, with weak references."""

    def __init__(self, rings: list[RingBuffer]) -> None:
        self.rings = rings

    def __call__(self, slots: int) -> None:
        for ring in self.rings:
            ring.resize(slots)


class _PipelineReader:
    """Thread that reads the pipeline."""

    def __init__(
        self,
        source: BatchSource,
        epochs: int,
        states: bool,
        channel: TransferStatistics,
        ring: RingBuffer,
        clock: Clock,
    ) -> None:
        self.source, self.epochs, self.states, self.channel, self.ring = source, epochs, states, channel, ring
        self.clock = clock
        self.gate = threading.Event()
        self.gate.set()
        # offloaded transforms on the CPU, for tests
        self.mover: BatchTransfer | None = None

    def pull(self) -> None:
        """Read batches into the host ring."""
        self._run(self._put)

    def pull_and_send(self) -> None:
        """Read batches into the device ring: host and device are the same."""
        self._run(self._put_counted)

    def _run(self, put: Callable[[RingItem], None]) -> None:
        channel, source = self.channel, self.source
        try:
            done = 0
            while self.epochs < 0 or done < self.epochs:
                self.gate.wait()
                began = self.clock.now()
                row = next(source, None)
                channel.data += self.clock.now() - began
                if row is None:
                    done += 1
                    channel.epochs = done
                    put(RingItem(_End(source.state() if self.states else None)))
                    continue
                channel.produced += 1
                size = size_of(row)
                put(
                    RingItem(TransferredBatch(list(row), size, source.state() if self.states else None), size)
                )
            channel.end(ENDED)
            self.ring.finish()
        except RingClosedError:
            channel.end(STOPPED)
        except BaseException as error:
            channel.end("the pipeline failed", error)
            self._tell(error)

    def _tell(self, error: BaseException) -> None:
        try:
            self.ring.put(RingItem(error))
        except RingClosedError:
            log.debug("channel %s: failed after it was stopped: %s", self.channel.name, error)

    def _put(self, item: RingItem) -> None:
        self.ring.put(item)

    def _put_counted(self, item: RingItem) -> None:
        if not isinstance(item.value, TransferredBatch):
            self.ring.put(item)
            return
        self.channel.begin_transfer(len(self.ring))
        if self.mover is not None and self.mover.transforms is not None:
            batch: TransferredBatch = item.value
            item = RingItem(self.mover.send(batch.values, batch.size, batch.state), item.size)
        self.channel.full += self.ring.put(item)
        self.channel.end_transfer(len(self.ring), item.size)


class _Transferrer:
    """Thread that transfers batches from the host ring to the device ring."""

    def __init__(
        self,
        mover: BatchTransfer,
        channel: TransferStatistics,
        host: RingBuffer,
        ready: RingBuffer,
        clock: Clock,
    ) -> None:
        self.mover, self.channel, self.host, self.ready, self.clock = mover, channel, host, ready, clock

    def __call__(self) -> None:
        try:
            while (item := self._next()) is not None:
                if isinstance(item.value, TransferredBatch):
                    item = self._sent(item)
                    self.channel.full += self.ready.put(item)
                    self.channel.end_transfer(len(self.ready), item.size)
                else:
                    self.ready.put(item)
            self.ready.finish()
        except RingClosedError:
            self.channel.end(STOPPED)
        except BaseException as error:
            self.channel.end("moving a batch failed", error)
            try:
                self.ready.put(RingItem(error))
            except RingClosedError:
                log.debug("channel %s: failed after it was stopped: %s", self.channel.name, error)
        finally:
            self.mover.finish()

    def _next(self) -> RingItem | None:
        try:
            return self.host.take()
        except RingClosedError:
            return None  # the pipeline or the prefetcher has ended

    def _sent(self, item: RingItem) -> RingItem:
        self.channel.begin_transfer(len(self.host))
        began = self.clock.now()
        batch: TransferredBatch = item.value
        sent = self.mover.send(batch.values, batch.size, batch.state)
        self.channel.moving += self.clock.now() - began
        split = None if self.mover.transforms is None else self.mover.transforms.split
        if split is not None:
            split.update(len(self.host) > 0, self.channel.waited, self.channel.stepping)
        return RingItem(sent, item.size)


@public("transfer")
def create_device_source(
    dataset: Any, epochs: int, device: str, state: Any = None, lender: HostAllocator | None = None
) -> BatchSource:
    """The iterator of a dataset for this device; offloaded transforms run on the device.

    Batches are allocated in pinned memory of the device, or by another allocator.
    """
    with override(allocator=lender or allocator_for(device)):
        if device != "cpu" and hasattr(dataset, "_device_run"):
            return cast(BatchSource, dataset._device_run(epochs, state))
        resume = {} if state is None else {"state": state}
        return cast(BatchSource, dataset.create_tuple_iterator(num_epochs=epochs, do_copy=False, **resume))


def _close(
    rings: list[RingBuffer],
    source: BatchSource,
    threads: list[threading.Thread],
    channel: TransferStatistics,
    gate: threading.Event,
) -> None:
    channel.end(STOPPED)
    for ring in rings:
        ring.close()
    gate.set()
    source.stop()
    until = time.monotonic() + GRACE
    for thread in threads:
        if thread is not threading.current_thread():
            thread.join(max(0.0, until - time.monotonic()))
