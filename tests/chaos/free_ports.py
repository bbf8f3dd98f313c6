"""Ports for processes that are started again and again.

A process that is away does not hold its port. The kernel could give it to an outgoing connection meanwhile if it were one of
those that it chooses from, so these are below them.
"""

import os
import socket

_LOWEST, _HIGHEST = 20_000, 32_000
_next = _LOWEST + (os.getpid() * 97) % (_HIGHEST - _LOWEST)


def take():
    """A port of 127.0.0.1 that is free now; each call returns another one."""
    global _next
    for _ in range(_HIGHEST - _LOWEST):
        _next = _next + 1 if _next < _HIGHEST else _LOWEST
        try:
            with socket.create_server(("127.0.0.1", _next)):
                return _next
        except OSError:
            continue
    raise OSError(f"no port from {_LOWEST} to {_HIGHEST} is free")
