"""Sampling: batches are requested ahead, and assembled from pieces."""

import collections
import dataclasses
import math
from typing import Iterator, Optional

import numpy as np

from waggle_client import _check, _wire, errors
from waggle_client._checksum import check
from waggle_client._compression import Decompressor
from waggle_client._link import Deadline
from waggle_client._stream import StreamCore
from waggle_client.batch import Batch, BatchLayout

_SampleRequest = _wire.message("SampleRequest")
_MAX_PREFETCH = 1024  # The server's limit on credits.


@dataclasses.dataclass
class SamplerOptions:
    """See Client.sampler."""

    batch_size: int
    prefetch: int
    timeout: Optional[float]
    sampler_id: str
    compression: str

    def __post_init__(self):
        self.batch_size = _check.integer("batch_size", self.batch_size, 1, (1 << 31) - 1)
        self.prefetch = _check.integer("prefetch", self.prefetch, 1, _MAX_PREFETCH)
        self.timeout = _check.seconds("timeout", self.timeout)
        _check.identifier("sampler_id", self.sampler_id)
        self.decompress = Decompressor(_check.text("compression", self.compression))


@dataclasses.dataclass(frozen=True)
class SamplerStats:
    """batches: that were taken. batches_ready: that wait to be taken. seconds_waited: for batches in next(), over all
    threads."""

    batches: int
    batches_ready: int
    seconds_waited: float


class SamplerCore(StreamCore):
    """Keeps at least half of `prefetch` batches, and at most all, requested or ready."""

    def __init__(self, link, config, options):
        self._decompress = options.decompress
        super().__init__(link, "Sample", "sample", f'sampling from table "{config.name}" at', [config.name])
        self.config = config
        self.timeout = options.timeout
        self.prefetch = options.prefetch
        self._sampler_id = options.sampler_id
        self._opened_layout = BatchLayout(config, options.batch_size)
        self._layout = self._opened_layout  # The layout of the next batches.
        self._taken = 0
        self._ready = collections.deque()
        self._open_sent = False
        self._owed_credits = 0  # Credits for taken batches that are not sent yet.
        # The batch that is being assembled; only the reading thread uses these.
        self._header = self._block = None
        self._received = 0

    def reset_locked(self):
        self._open_sent = False
        self._owed_credits = 0
        self._header = self._block = None
        self._received = 0

    def opening_locked(self):
        self._open_sent = True
        request = _SampleRequest()
        request.open.table = self.config.name
        request.open.batch_size = self._opened_layout.items
        request.open.sampler_id = self._sampler_id
        request.open.compression = self._decompress.wire
        return request

    def next_request_locked(self):
        if not self._open_sent:
            request = self.opening_locked()
            self._owed_credits = 0  # The credits below include batches that were taken since the stream began.
            request.credits = self.prefetch - len(self._ready)
            return request.SerializeToString(), None
        # Several credits are sent together, because a message for each batch would cost as much as a small batch.
        if self._owed_credits < (self.prefetch + 1) // 2:
            return None, None
        request = _SampleRequest()
        request.credits, self._owed_credits = self._owed_credits, 0
        return request.SerializeToString(), None

    def on_message(self, message, data, first):
        if first:
            if not message.HasField("opened"):
                raise errors.Internal("the server's first message on the stream is not `opened`")
            self._opened_layout.check_same(message.opened)
            return
        self._add_piece(message, data)
        if self._received < self._layout.total_bytes:
            return
        batch = Batch(self.config.name, self._layout.fields(self._block), self._header)
        self._header = self._block = None
        self._received = 0
        with self.changed:
            if len(self._ready) >= self.prefetch:
                raise errors.Internal("the server sent more batches than it was asked for")
            self._ready.append(batch)
            self.changed.notify_all()

    def _add_piece(self, message, data):
        begins = self._block is None
        if message.HasField("opened") or message.HasField("batch") != begins:
            raise errors.Internal(
                "the server sent a piece of a batch that it has not begun"
                if begins
                else "the server began a batch within another one"
            )
        total = self._layout.total_bytes
        size = message.uncompressed_bytes if message.compression else len(data)
        if message.data_offset != self._received or not 0 < size <= total - self._received:
            raise errors.Internal(
                f"the server sent {size} bytes at byte {message.data_offset} of a batch; it has {total} bytes, "
                f"and byte {self._received} is the next"
            )
        if begins:
            header = message.batch
            if header.items != self._layout.items:
                raise errors.Internal(
                    f"the server sent a batch of {header.items} items instead of {self._layout.items}"
                )
            if not (math.isfinite(header.priority_sum) and math.isfinite(header.min_probability)):
                raise errors.Internal(
                    f"the server sent a priority sum of {header.priority_sum} and a smallest probability of "
                    f"{header.min_probability}"
                )
            self._header, self._block = header, self._layout.allocate()
        if message.HasField("checksum"):
            check(data, message.checksum)
        if message.compression:
            data = self._decompress(message.compression, data, size)
        self._block[self._received : self._received + size] = np.frombuffer(data, np.uint8)
        self._received += size

    def doing(self):
        return f"{self.what} {self.link.address}: no batch"

    def take(self, deadline):
        with self.changed:
            if not self._ready:
                self.wait_locked(lambda: self._ready, deadline, self.doing, "samples")
            batch = self._ready.popleft()
            self._taken += 1
            self._owed_credits += 1
            if self._owed_credits >= (self.prefetch + 1) // 2:
                self.changed.notify_all()
            return batch

    def stats(self):
        with self.changed:
            return SamplerStats(self._taken, len(self._ready), self._waited)


class DrawCore(SamplerCore):
    """Draws one batch at a time on request, of any size up to the options', without fetching ahead.

    Its stream begins with the first request. It ends if its stream breaks while no batch is requested.
    """

    def __init__(self, link, config, options):
        super().__init__(link, config, options)
        self.largest = options.batch_size
        self._wanted = None  # Items of the requested batch.
        self._asked = False  # True once it was requested on the current stream.

    def reset_locked(self):
        super().reset_locked()
        self._asked = False

    def unused_locked(self):
        return self._wanted is None

    def next_request_locked(self):
        if self._wanted is None or self._asked:
            return None, None
        request = _SampleRequest() if self._open_sent else self.opening_locked()
        request.draw_items.append(self._wanted)
        request.draw_counted.append(self._wanted)
        self._asked = True
        return request.SerializeToString(), None

    def draw(self, items, deadline):
        layout = self._layout if self._layout.items == items else BatchLayout(self.config, items)
        with self.changed:
            self.check_locked()
            self._layout, self._wanted, self._asked = layout, items, False
            if self._thread.ident is None:
                self.start()
            self.changed.notify_all()
            self.wait_locked(lambda: self._ready, deadline, self.doing, "samples")
            self._wanted = None
            return self._ready.popleft()


class Sampler:
    """Samples batches from a table; see Client.sampler. Threads may share it: each batch goes to one of them.

    It is an iterator of batches without an end, and closes at the end of a `with` block. It reconnects after a loss. A
    refusal by the server is final, and raised by every next() once the batches that had come are taken.
    """

    def __init__(self, core: SamplerCore):
        self._core = core

    def next(self, timeout: Optional[float] = None) -> Batch:
        """The next batch. Waits at most `timeout` seconds, by default the sampler's own. DeadlineExceeded says why
        there is none; the call may be repeated."""
        return self._core.take(Deadline(self._core.timeout if timeout is None else timeout))

    def stats(self) -> SamplerStats:
        """Any thread."""
        return self._core.stats()

    def __iter__(self) -> Iterator[Batch]:
        return self

    def __next__(self) -> Batch:
        return self.next()

    def close(self) -> None:
        """Ends the sampler. A next() in another thread raises Cancelled, and batches that were fetched ahead are
        dropped."""
        self._core.end()

    def __repr__(self):
        return f'<waggle_client.Sampler of table "{self._core.config.name}" at {self._core.link.address}>'

    def __enter__(self) -> "Sampler":
        return self

    def __exit__(self, kind, error, traceback) -> None:
        self.close()

    def __del__(self):
        core = getattr(self, "_core", None)
        if core is not None:
            core.end()
