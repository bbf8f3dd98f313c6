"""A TCP proxy that disturbs the connections that pass through it.

One thread runs the event loop of all proxies of a farm. Each connection has two pumps: "up" takes bytes from the client to
the server, "down" takes the answers back.
"""

import asyncio
import collections
import random
import socket
import struct
import threading
from dataclasses import dataclass

PIECE = 64 << 10
MOST_DELAYED = 1 << 20  # The bytes that a pump holds back before it stops reading.
DIRECTIONS = ("up", "down")


@dataclass(frozen=True)
class Toxic:
    """A disturbance, as long as it is in force.

    hold: bytes wait and connections stay open, as behind a cable that is cut.
    refuse: connections are reset, and new ones too.
    reset_after: a connection is reset once it has carried this many further bytes, in the middle of a message.
    delay, jitter: seconds that bytes wait; their order stays.
    bytes_per_second: the bandwidth of each connection.
    slice: the most bytes that are passed on at a time.
    """

    directions: tuple = DIRECTIONS
    hold: bool = False
    refuse: bool = False
    reset_after: int = -1
    delay: float = 0.0
    jitter: float = 0.0
    bytes_per_second: float = 0.0
    slice: int = 0
    # The share of the connections that it is for; which ones is drawn for each.
    share: float = 1.0


def reset(writer):
    """Ends a connection by a TCP reset, which drops the bytes that were not sent yet."""
    connection = writer.get_extra_info("socket")
    if connection is not None:
        try:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        except OSError:
            pass
    writer.transport.abort()


class Connection:
    """One client's connection, and the one to the server that belongs to it. Lives in the event loop."""

    def __init__(self, proxy, reader, writer):
        self._proxy = proxy
        self._client = (reader, writer)
        self._server = None
        self._allowance = None  # The bytes until a reset; None: no limit.
        self.toxic = None
        self.changed = asyncio.Event()

    def affect(self, toxic):
        self.toxic = toxic
        self._allowance = toxic.reset_after if toxic is not None and toxic.reset_after >= 0 else None
        self.changed.set()
        self.changed = asyncio.Event()
        if toxic is not None and toxic.refuse:
            self.reset()

    def reset(self):
        for side in (self._client, self._server):
            if side is not None:
                reset(side[1])

    async def run(self):
        try:
            while self._holds("up"):  # The server does not hear of the connection either.
                await self.changed.wait()
            self._server = await asyncio.open_connection(*self._proxy.upstream)
        except OSError:
            reset(self._client[1])
            return
        pumps = [asyncio.ensure_future(self._pump("up", self._client[0], self._server[1])),
                 asyncio.ensure_future(self._pump("down", self._server[0], self._client[1]))]
        try:
            await asyncio.gather(*pumps)
        except (OSError, asyncio.IncompleteReadError):
            self.reset()
        finally:
            for pump in pumps:
                pump.cancel()
            for side in (self._client, self._server):
                side[1].close()

    def _holds(self, direction):
        return self.toxic is not None and self.toxic.hold and direction in self.toxic.directions

    async def _pump(self, direction, reader, writer):
        queue = collections.deque()  # Pairs of the time at which bytes may go on, and the bytes; None at the end.
        arrived = asyncio.Event()
        taken = asyncio.Event()
        held_back = 0
        loop = asyncio.get_running_loop()

        async def take_in():
            nonlocal held_back
            while True:
                while held_back > MOST_DELAYED:
                    taken.clear()
                    await taken.wait()
                data = await reader.read(PIECE)
                toxic, delay = self.toxic, 0.0
                if toxic is not None and direction in toxic.directions:
                    delay = toxic.delay + self._proxy.random.uniform(0, toxic.jitter)
                due = loop.time() + delay
                queue.append((max(due, queue[-1][0]) if queue else due, data))
                held_back += len(data)
                arrived.set()
                if not data:
                    return

        taking = asyncio.ensure_future(take_in())
        try:
            while True:
                while not queue:
                    if taking.done():
                        taking.result()
                    arrived.clear()
                    waiting = asyncio.ensure_future(arrived.wait())
                    await asyncio.wait({waiting, taking}, return_when=asyncio.FIRST_COMPLETED)
                    waiting.cancel()
                    if taking.done() and not queue:
                        taking.result()  # Raises the reader's error.
                due, data = queue.popleft()
                if due > loop.time():
                    await asyncio.sleep(due - loop.time())
                await self._pass_on(direction, writer, data)
                if not data:
                    return
                held_back -= len(data)
                taken.set()
        finally:
            taking.cancel()

    async def _pass_on(self, direction, writer, data):
        while self._holds(direction):
            await self.changed.wait()
        if not data:
            if writer.can_write_eof():
                writer.write_eof()
            return
        while data:
            toxic = self.toxic
            applies = toxic is not None and direction in toxic.directions
            piece = data[: toxic.slice] if applies and toxic.slice > 0 else data
            if applies and toxic.bytes_per_second > 0:
                piece = piece[: max(1, int(toxic.bytes_per_second / 20))]
                await asyncio.sleep(len(piece) / toxic.bytes_per_second)
            if applies and self._allowance is not None:
                piece = piece[: self._allowance]
                self._allowance -= len(piece)
            writer.write(piece)
            await writer.drain()
            if applies and self._allowance == 0:
                raise ConnectionResetError("reset by a toxic")
            if applies and toxic.slice > 0:
                await asyncio.sleep(0.0002)
            data = data[len(piece) :]
            while data and self._holds(direction):
                await self.changed.wait()


class TcpProxy:
    """Listens at 127.0.0.1:`port` and passes connections on to `upstream`, a pair of host and port. Made by a farm."""

    def __init__(self, farm, name, port, upstream, seed):
        self.name = name
        self.port = port
        self.upstream = upstream
        self.random = random.Random(f"{seed} {name}")
        self._farm = farm
        self._toxic = None
        self._connections = set()
        self._server = None
        self.accepted = 0

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def disturb(self, toxic):
        """Puts a disturbance in force, in place of the previous one; None ends it. Any thread."""
        self._farm.call(self._disturb(toxic))

    def connections(self):
        return len(self._connections)

    async def _disturb(self, toxic):
        self._toxic = toxic
        for connection in list(self._connections):
            self._affect(connection)

    def _affect(self, connection):
        toxic = self._toxic
        if toxic is not None and self.random.random() >= toxic.share:
            toxic = None
        connection.affect(toxic)

    async def start(self):
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port, limit=PIECE, backlog=1024)

    def stop(self):
        self._server.close()

    async def _accept(self, reader, writer):
        self.accepted += 1
        connection = Connection(self, reader, writer)
        self._connections.add(connection)
        try:
            self._affect(connection)
            if connection.toxic is None or not connection.toxic.refuse:
                await connection.run()
        except asyncio.CancelledError:
            pass
        finally:
            self._connections.discard(connection)


class ProxyFarm:
    """The event loop of all proxies, in its own thread."""

    def __init__(self, seed=0):
        self._seed = seed
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(lambda loop, context: None)  # Broken connections are the purpose.
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxies", daemon=True)
        self._thread.start()
        self.proxies = {}

    def add(self, name, port, upstream):
        proxy = TcpProxy(self, name, port, upstream, self._seed)
        self.call(proxy.start())
        self.proxies[name] = proxy
        return proxy

    def call(self, coroutine, timeout=120):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(timeout)

    def heal(self):
        for proxy in self.proxies.values():
            proxy.disturb(None)

    def close(self):
        self.call(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _end(self):
        for proxy in self.proxies.values():
            proxy.stop()
        mine = asyncio.current_task()
        others = [task for task in asyncio.all_tasks() if task is not mine]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
