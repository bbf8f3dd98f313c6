"""The messages between an actor and this process: see docs/environment_memory.md."""

import json
import socket
import struct

_HEADER = struct.Struct("<BBHI")  # Kind, group, unused, bytes of JSON that follow.

# From the actor.
OPEN = 1
MEMORY = 2
RUN = 3
# To the actor.
SPEC = 65
READY = 66
DONE = 67
ERROR = 68


class Connection:
    def __init__(self, descriptor):
        self._socket = socket.socket(fileno=descriptor)
        self._done = [_HEADER.pack(DONE, group, 0, 0) for group in range(256)]

    def receive(self):
        """The kind, the group and the JSON of the next message; None once the actor has gone."""
        header = self._receive_bytes(_HEADER.size)
        if header is None:
            return None
        kind, group, _, length = _HEADER.unpack(header)
        text = self._receive_bytes(length) if length > 0 else b"null"
        return None if text is None else (kind, group, json.loads(text))

    def send(self, kind, content=None):
        text = b"" if content is None else json.dumps(content).encode()
        self._socket.sendall(_HEADER.pack(kind, 0, 0, len(text)) + text)

    def send_done(self, group):
        self._socket.sendall(self._done[group])

    def _receive_bytes(self, count):
        received = self._socket.recv(count)
        while 0 < len(received) < count:
            more = self._socket.recv(count - len(received))
            if not more:
                return None
            received += more
        return received or None
