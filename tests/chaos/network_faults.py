"""Faults of the network, by proxies and by clients that behave badly."""

import os
import random
import socket
import struct
import time

import grpc

import wire
from chaos_context import PATIENCE, Skipped
from tcp_proxy import Toxic

IDLE_CONNECTIONS = 1500


def _disturb(chaos, target, toxic, seconds):
    proxy = chaos.pool.proxies.proxies[target]
    proxy.disturb(toxic)
    chaos.wait(seconds)
    proxy.disturb(None)


def _share(rng):
    return rng.choice((1.0, 1.0, 0.5))


def cut(chaos, target, seconds, rng):
    """No bytes pass, and no connection ends."""
    _disturb(chaos, target, Toxic(hold=True, share=_share(rng)), seconds)


def half_open(chaos, target, seconds, rng):
    """Bytes pass in one direction only: requests arrive and answers do not, or the other way round."""
    _disturb(chaos, target, Toxic(directions=(rng.choice(("up", "down")),), hold=True, share=_share(rng)), seconds)


def refuse(chaos, target, seconds, rng):
    """Connections are reset, and new ones too."""
    _disturb(chaos, target, Toxic(refuse=True, share=_share(rng)), seconds)


def reset_mid_message(chaos, target, seconds, rng):
    """Connections are reset in the middle of a message, again and again."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        direction = rng.choice((("up",), ("down",), ("up", "down")))
        _disturb(chaos, target, Toxic(directions=direction, reset_after=int(10 ** rng.uniform(0, 5.5))),
                 rng.uniform(0.5, 2.0))


def latency(chaos, target, seconds, rng):
    """Bytes are late, by up to half a second, and come in slices."""
    delay = rng.uniform(0.02, 0.25)
    _disturb(chaos, target, Toxic(delay=delay, jitter=delay, slice=rng.choice((0, 0, 1000))), seconds)


def bandwidth(chaos, target, seconds, rng):
    """Each connection carries 10 kB to 1 MB a second."""
    _disturb(chaos, target, Toxic(bytes_per_second=10 ** rng.uniform(4, 6), share=_share(rng)), seconds)


def slow_consumer(chaos, target, seconds, rng):
    """A client asks for many batches and reads nothing. Other clients go on."""
    message = chaos.messages.message
    with wire.channel(chaos.pool.address[target], ("grpc.http2.lookahead_bytes", 65536)) as channel:
        sample = chaos.messages.stub(channel, "ReplayService/Sample")

        def requests():
            opening = message("SampleRequest")(credits=8)
            opening.open.table = "chaos_log"
            opening.open.sampler_id = f"slow-{rng.randint(0, 1 << 30)}"
            opening.open.batch_size = 4096
            yield opening
            time.sleep(seconds)

        call = sample(requests(), timeout=seconds + 5)
        chaos.wait(seconds)
        call.cancel()


def _descriptors(pid):
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return None


def _serves_meanwhile(chaos, target, life, what):
    process = chaos.pool[target]
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if process.lives != life or not process.alive or chaos.serves(target, max(1.0, end - time.monotonic())):
            return
        time.sleep(0.2)
    chaos.violation(f"{target} does not serve while there are {what}")


def _descriptors_return(chaos, target, life, before):
    process = chaos.pool[target]
    end = time.monotonic() + PATIENCE
    now = None
    while time.monotonic() < end:
        now = _descriptors(process.pid)
        if process.lives != life or now is None or now < before + 100:
            return
        time.sleep(0.5)
    chaos.violation(f"{target} has {now} open files after connections have ended, and had {before} before")


def _target_of(chaos, target):
    host, port = chaos.pool.address[target].split(":")
    process = chaos.pool[target]
    before = _descriptors(process.pid)
    if not process.alive or before is None:
        raise Skipped(f"{target} does not live just now")
    return (host, int(port)), process.lives, before


def idle_connections(chaos, target, seconds, _rng):
    """1,500 connections on which nothing comes."""
    address, life, before = _target_of(chaos, target)
    connections = []
    try:
        for _ in range(IDLE_CONNECTIONS):
            try:
                connections.append(socket.create_connection(address, timeout=5))
            except OSError:
                break  # The server refuses more, or has ended.
        _serves_meanwhile(chaos, target, life, f"{len(connections)} idle connections")
        chaos.wait(seconds)
    finally:
        for connection in connections:
            connection.close()
    _descriptors_return(chaos, target, life, before)


_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_SETTINGS = b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"


def _beginnings(rng):
    """Bytes with which a client begins and then goes away, of HTTP/2 and of nothing."""
    return rng.choice((b"", _PREFACE[: rng.randint(1, 20)], _PREFACE + _SETTINGS,
                       _PREFACE + _SETTINGS + random.Random(rng.random()).randbytes(200),
                       b"GET / HTTP/1.1\r\n\r\n", rng.randbytes(rng.randint(1, 2000)),
                       _PREFACE + _SETTINGS + struct.pack(">I", rng.randint(0, 1 << 31))))


def connection_churn(chaos, target, seconds, rng):
    """Connections that end at once, by a close or a reset, with wrong bytes on some."""
    address, life, before = _target_of(chaos, target)
    end = time.monotonic() + seconds
    made = 0
    while time.monotonic() < end:
        try:
            with socket.create_connection(address, timeout=5) as connection:
                connection.sendall(_beginnings(rng))
                if rng.random() < 0.5:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            made += 1
        except OSError:
            time.sleep(0.05)
        if made % 20 == 0:
            time.sleep(0.01)
    _serves_meanwhile(chaos, target, life, "connections that come and go")
    _descriptors_return(chaos, target, life, before)


def cancelled_streams(chaos, target, seconds, rng):
    """Streams that are cancelled at once (RST_STREAM), over one connection."""
    address, life, before = _target_of(chaos, target)
    end = time.monotonic() + seconds
    with wire.channel(f"{address[0]}:{address[1]}") as channel:
        describe = chaos.messages.stub(channel, "ReplayService/Describe")
        while time.monotonic() < end:
            calls = [describe.future(chaos.messages.message("DescribeRequest")(), timeout=10)
                     for _ in range(rng.randint(1, 50))]
            for call in calls:
                call.cancel()
            try:
                describe(chaos.messages.message("DescribeRequest")(), timeout=10)
            except grpc.RpcError:
                time.sleep(0.1)
    _descriptors_return(chaos, target, life, before)
