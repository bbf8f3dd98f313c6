#!/usr/bin/env python3
"""Tests of the proxy: python3 tests/chaos/tcp_proxy_test.py. [grpc]"""

import socket
import threading
import time
import unittest

import free_ports
from tcp_proxy import ProxyFarm, Toxic


class EchoServer:
    """Answers with what comes, to any number of connections."""

    def __init__(self):
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = self._listener.getsockname()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._echo, args=(connection,), daemon=True).start()

    def _echo(self, connection):
        with connection:
            try:
                while data := connection.recv(1 << 16):
                    connection.sendall(data)
            except OSError:
                pass

    def close(self):
        self._listener.close()


class TcpProxyTest(unittest.TestCase):
    def setUp(self):
        self.server = EchoServer()
        self.addCleanup(self.server.close)
        self.farm = ProxyFarm(seed=1)
        self.addCleanup(self.farm.close)
        self.proxy = self.farm.add("echo", free_ports.take(), self.server.address)

    def connect(self, timeout=30):
        connection = socket.create_connection(("127.0.0.1", self.proxy.port), timeout=timeout)
        self.addCleanup(connection.close)
        return connection

    def ask(self, connection, data):
        connection.sendall(data)
        answer = b""
        while len(answer) < len(data):
            piece = connection.recv(1 << 16)
            if not piece:
                break
            answer += piece
        return answer

    def test_bytes_pass_unchanged_and_in_order(self):
        connection = self.connect()
        data = bytes(range(256)) * 4096
        writer = threading.Thread(target=connection.sendall, args=(data,))
        writer.start()
        answer = b""
        while len(answer) < len(data):
            answer += connection.recv(1 << 16)
        writer.join()
        self.assertEqual(answer, data)

    def test_held_bytes_arrive_after_the_end_of_the_toxic(self):
        for direction in (("up",), ("down",), ("up", "down")):
            with self.subTest(direction=direction):
                connection = self.connect(timeout=0.3)
                self.assertEqual(self.ask(connection, b"one"), b"one")
                self.proxy.disturb(Toxic(directions=direction, hold=True))
                connection.sendall(b"two")
                with self.assertRaises(TimeoutError):
                    connection.recv(3)
                self.proxy.disturb(None)
                connection.settimeout(30)
                self.assertEqual(connection.recv(3), b"two")

    def test_a_reset_comes_in_the_middle_of_a_message(self):
        connection = self.connect()
        self.proxy.disturb(Toxic(directions=("down",), reset_after=5))
        connection.sendall(b"0123456789")
        got = b""
        with self.assertRaises(ConnectionResetError):
            while True:
                piece = connection.recv(100)
                if not piece:
                    raise ConnectionResetError  # The kernel may report the end before the reset.
                got += piece
        self.assertTrue(b"01234".startswith(got), got)

    def test_refused_connections_end_and_new_ones_work_later(self):
        connection = self.connect()
        self.assertEqual(self.ask(connection, b"one"), b"one")
        self.proxy.disturb(Toxic(refuse=True))
        try:
            self.assertEqual(self.ask(connection, b"two"), b"")
        except OSError:
            pass
        self.proxy.disturb(None)
        self.assertEqual(self.ask(self.connect(), b"three"), b"three")

    def test_delays_slices_and_bandwidth_keep_bytes_and_their_order(self):
        data = bytes(range(256)) * 64
        for toxic, least in ((Toxic(delay=0.05, jitter=0.05), 0.1), (Toxic(slice=700), 0.0),
                             (Toxic(bytes_per_second=400_000), 0.04)):
            with self.subTest(toxic=toxic):
                self.proxy.disturb(toxic)
                connection = self.connect()
                start = time.monotonic()
                self.assertEqual(self.ask(connection, data), data)
                self.assertGreaterEqual(time.monotonic() - start, least)

    def test_a_toxic_may_be_for_a_share_of_the_connections(self):
        connections = [self.connect(timeout=0.3) for _ in range(20)]
        for connection in connections:
            self.ask(connection, b"one")
        self.proxy.disturb(Toxic(hold=True, share=0.5))
        answered = 0
        for connection in connections:
            try:
                answered += self.ask(connection, b"two") == b"two"
            except TimeoutError:
                pass
        self.assertTrue(0 < answered < 20, answered)

    def test_the_end_of_a_connection_is_passed_on(self):
        connection = self.connect()
        self.assertEqual(self.ask(connection, b"one"), b"one")
        connection.shutdown(socket.SHUT_WR)
        self.assertEqual(connection.recv(1), b"")


if __name__ == "__main__":
    unittest.main()
