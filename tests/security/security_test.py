#!/usr/bin/env python3
"""Tests of certificates, tokens and roles, on a small service.

usage: security_test.py BIN

BIN is the folder of the executables. Exits with 77, for "skipped", if openssl or the Python client's packages are missing.
"""

import base64
import importlib.util
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/metrics"))

from service import Service, eventually, free_address, get

BIN = None
NEEDED = ("grpc", "google.protobuf", "numpy", "xxhash")
EXPERIMENT = """
experiment: {name: secured, seed: 1}
environment: {name: CartPole-v1}
algorithm: {name: apex_dqn}
network: {torso: [{type: mlp, units: [16]}], heads: {q: {type: q}}}
replay: {max_items: 1000, sampler: {kind: uniform}, rate_limiter: {samples_per_insert: 4}}
actor: {processes: 1, lanes: 2}
learner: {batch_size: 16}
evaluation: {episodes: 1, period_seconds: 1}
stop: {target_return: 1, max_seconds: 600}
"""


def certificates(folder, days=2):
    subprocess.run([ROOT / "deploy/certificates.sh", folder], check=True, stdout=subprocess.DEVNULL,
                   env=dict(os.environ, DAYS=str(days)))


def refusals(address, certificates):
    """The counts of refused calls by reason, at an address of metrics."""
    text = get(address, "/metrics", certificates)[1]
    return {reason: int(float(count)) for reason, count in
            re.findall(r'^waggle_security_refused_total\{reason="(\w+)"\} (\S+)$', text, re.MULTILINE)}


class SecurityTest(unittest.TestCase):
    """The tests run in the order of their names."""

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        shutil.copytree(ROOT / "python/waggle_client", cls.folder / "python/waggle_client")
        subprocess.run([sys.executable, ROOT / "python/proto_build.py", cls.folder / "python/waggle_client/waggle_v1.binpb"],
                       check=True)
        sys.path.insert(0, str(cls.folder / "python"))
        certificates(cls.folder / "certificates")
        certificates(cls.folder / "other")
        shutil.copytree(cls.folder / "certificates/ca", cls.folder / "expired/ca")
        certificates(cls.folder / "expired", days=-1)
        cls.reader = cls.folder / "certificates/reader"
        cls.web = free_address()
        cls.tokens = {}
        lines = ["callers:"]
        for name, role in {"ann": "submitter", "rita": "reader"}.items():
            made = subprocess.run([BIN / "waggle", "token", name, "--role", role], check=True, text=True,
                                  stdout=subprocess.PIPE).stdout
            (token,) = re.findall(r"^token: (\S+)$", made, re.MULTILINE)
            lines += re.findall(r"^  \w+: \{.*\}$", made, re.MULTILINE)
            cls.tokens[name] = cls.folder / f"{name}.token"
            cls.tokens[name].write_text(token + "\n")
            cls.tokens[name].chmod(0o600)
        cls.access = cls.folder / "access.yaml"
        cls.access.write_text("\n".join(lines) + "\n")
        worker = ["--tls", str(cls.folder / "certificates/worker"), "--access", str(cls.access)]
        hub = ["--tls", str(cls.folder / "certificates/hub"), "--access", str(cls.access), "--web", cls.web]
        cls.service = Service(BIN, cls.folder, {
            part: hub if part == "hub" else worker
            for part in ("hub", "replay", "learner", "actor", "evaluator", "reducer")})
        (cls.folder / "secured.yaml").write_text(EXPERIMENT)
        eventually("the hub serves", lambda: cls.as_(cls, "admin", "list").returncode == 0)

    @classmethod
    def tearDownClass(cls):
        cls.service.end()
        cls.temporary.cleanup()

    def run_(self, *words):
        return self.service.waggle(*words)

    def as_(self, certificate, *words):
        return self.service.waggle(*words, "--tls", str(self.folder / "certificates" / certificate))

    def as_person(self, name, *words):
        return self.service.waggle(*words, "--tls", str(self.folder / "certificates/ca"), "--token-file",
                                   str(self.tokens[name]))

    def assert_refused(self, done, *parts):
        self.assertNotEqual(done.returncode, 0, done.stdout)
        lines = done.stdout.strip().splitlines()
        self.assertEqual(len(lines), 1, done.stdout)
        for part in parts:
            self.assertIn(part, lines[0])

    def test_1_an_experiment_runs_on_encrypted_connections_alone(self):
        done = self.as_person("ann", "submit", str(self.folder / "secured.yaml"), "--watch", "--owner", "somebody-else")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("solved", done.stdout)
        listed = self.as_person("ann", "list", "--json")
        self.assertIn('"owner": "ann"', listed.stdout)  # Quotas are those of the caller.

    def test_2_callers_without_the_right_are_refused_in_one_sentence(self):
        before = refusals(self.service.metrics["hub"], self.reader)
        ca = str(self.folder / "certificates/ca")
        self.assert_refused(self.service.waggle("list", "--tls", ca), "got neither a certificate nor a token")
        wrong = self.folder / "wrong.token"
        wrong.write_text("not-a-token-of-anybody\n")
        wrong.chmod(0o600)
        self.assert_refused(self.service.waggle("list", "--tls", ca, "--token-file", str(wrong)), "token: got one that")
        self.assertEqual(self.as_person("rita", "list").returncode, 0)
        self.assert_refused(self.as_person("rita", "submit", str(self.folder / "secured.yaml")), "rita", "submitter")
        self.assert_refused(self.as_("worker", "submit", str(self.folder / "secured.yaml")), "submitter")
        self.assertEqual(self.as_("reader", "status").returncode, 0)
        after = refusals(self.service.metrics["hub"], self.reader)
        for reason, least in {"no_caller": 1, "unknown_token": 1, "role": 2}.items():
            self.assertGreaterEqual(after[reason] - before[reason], least, reason)

    def test_3_certificates_that_are_not_valid_are_refused(self):
        before = refusals(self.service.metrics["hub"], self.reader)
        self.assert_refused(self.service.waggle("list", "--tls", str(self.folder / "expired/worker")), "expired")
        self.assert_refused(self.service.waggle("list", "--tls", str(self.folder / "other/worker")), "ca.crt of --tls")
        self.assert_refused(self.service.waggle("list"), self.service.hub, "see --tls")
        self.assert_refused(self.service.waggle("list", "--token-file", str(self.tokens["ann"])), "--tls")
        # A client that does not look at its own certificate.
        for folder in ("expired", "other"):
            with self.subTest(folder=folder):
                mixed = self.folder / f"mixed_{folder}"
                shutil.copytree(self.folder / folder / "worker", mixed)
                shutil.copy(self.folder / "certificates/ca/ca.crt", mixed)
                self.assertNotIn("experiments", self.raw_list(mixed))
        after = eventually("handshakes are counted", lambda: (lambda counts: counts["handshake"] > before["handshake"] + 1
                                                              and counts)(refusals(self.service.metrics["hub"], self.reader)))
        self.assertGreater(after["handshake"], before["handshake"])

    def raw_list(self, folder, metadata=()):
        """What a client of the gRPC library alone gets for List."""
        import grpc

        credentials = grpc.ssl_channel_credentials(*((folder / name).read_bytes() for name in ("ca.crt", "tls.key", "tls.crt")))
        options = [("grpc.ssl_target_name_override", "server.waggle"), ("grpc.enable_http_proxy", 0)]
        with grpc.secure_channel(self.service.hub, credentials, options) as channel:
            call = channel.unary_unary("/waggle.v1.ExperimentService/List")
            try:
                return f"experiments: {call(b'', timeout=5, metadata=metadata)}"
            except grpc.RpcError as error:
                return error.details()

    def test_4_plain_text_beyond_this_machine_needs_a_flag(self):
        command = [BIN / "waggle-replay-server", "--listen", "0.0.0.0:0"]
        done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("--insecure", done.stdout)
        server = subprocess.Popen([*command, "--insecure"], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            self.assertIn("plain text", next(line for line in server.stdout if "--insecure" in line))
        finally:
            server.kill()
            server.wait()
            server.stdout.close()

    def test_4_certificates_that_cannot_serve_are_refused_at_the_start(self):
        done = subprocess.run([BIN / "waggle-replay-server", "--listen", "127.0.0.1:0", "--tls",
                               self.folder / "certificates/admin"], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=60)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("admin.waggle; wanted one for server.waggle", done.stdout)

    def test_5_openssl_sees_tls_and_what_it_chose(self):
        for version in ("-tls1_3", "-tls1_2"):
            done = subprocess.run(
                ["openssl", "s_client", version, "-alpn", "h2", "-connect", self.service.hub, "-CAfile",
                 self.folder / "certificates/ca/ca.crt", "-servername", "server.waggle"],
                input="", text=True, errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.assertIn("Verify return code: 0 (ok)", done.stdout)
            print(re.search(r"New, (.*)", done.stdout)[1], file=sys.stderr)
        for version in ("-tls1_1", "-tls1"):
            done = subprocess.run(["openssl", "s_client", version, "-cipher", "ALL:@SECLEVEL=0", "-connect", self.service.hub],
                                  input="", text=True, errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.assertIn("Cipher is (NONE)", done.stdout)

    def test_5_metrics_and_the_web_page_are_encrypted_and_know_their_callers(self):
        ca = self.folder / "certificates/ca"
        for part, address in self.service.metrics.items():
            self.assertEqual(get(address, "/healthz", ca), (200, "ok\n"), part)
            self.assertEqual(get(address, "/metrics", ca)[0], 401, part)
            self.assertEqual(get(address, "/metrics", self.reader)[0], 200, part)
            self.assertEqual(get(address, "/metrics")[0], 400, part)  # Plain text.
        self.assertIn("<title>", get(self.web, "/", self.reader)[1])
        basic = lambda name: {"Authorization": "Basic " + base64.b64encode(
            f"{name}:{self.tokens[name].read_text().strip()}".encode()).decode()}
        experiments = json.loads(get(self.web, "/api/experiments", ca, basic("rita"))[1])["experiments"]
        change = f"/api/experiments/{experiments[0]['id']}/priority?priority=3"
        self.assertEqual(get(self.web, change, ca, basic("rita"), b"")[0], 403)
        self.assertEqual(get(self.web, change, ca, {"Origin": "https://other", **basic("ann")}, b"")[0], 403)
        self.assertNotIn(get(self.web, change, ca, basic("ann"), b"")[0], (401, 403))

    def test_6_renewed_certificates_lose_no_item(self):
        import numpy as np
        import waggle_client as waggle

        log = self.service.log("replay")
        read = lambda: log.read_text().count("TLS with the certificate")
        address = re.search(r"serving replay on (127\.0\.0\.1:\d+)", log.read_text())[1]
        stop, added = threading.Event(), []
        client = waggle.Client(address, timeout=60, tls=self.folder / "certificates/worker")
        self.addCleanup(client.close)
        client.create_table(waggle.Table("numbers", {"number": waggle.Column("int64", ())}, sampler=waggle.fifo(),
                                         max_items=1_000_000))

        def write():
            with client.writer("numbers") as writer:
                while not stop.wait(0.001):
                    writer.append({"number": np.int64(len(added))})
                    writer.create_item()
                    added.append(len(added))

        writing = threading.Thread(target=write)
        writing.start()
        try:
            for _ in range(2):
                before, items = read(), len(added)
                certificates(self.folder / "certificates")  # The same authority, new keys.
                eventually("the server reads them", lambda: read() > before)
                eventually("rows go on", lambda: len(added) > items + 100)
                with waggle.Client(address, tls=self.folder / "certificates/worker") as other:
                    self.assertGreater(other.table("numbers").items, 0)
        finally:
            stop.set()
            writing.join()
        self.assertEqual(client.table("numbers").items, len(added))
        with self.assertRaises(waggle.Unauthenticated):
            waggle.Client(address, tls=self.folder / "certificates/ca").describe()
        with self.assertRaises(waggle.PermissionDenied):
            with waggle.Client(address, tls=self.folder / "certificates/reader") as reader:
                self.assertEqual(reader.table("numbers").items, len(added))
                reader.clear("numbers")
        self.assertEqual(client.table("numbers").items, len(added))

    def test_7_changed_callers_count_at_once_and_changes_are_audited(self):
        text = self.access.read_text()
        self.access.write_text(text.replace("roles: [reader]", "roles: [submitter]"))
        done = eventually("rita may submit", lambda: (lambda done: done.returncode == 0 and done)(
            self.as_person("rita", "submit", str(self.folder / "secured.yaml"))))
        (name,) = re.findall(r"secured-\w+", done.stdout)[:1]
        self.access.write_text("callers: {rita: {roles: [king]}}\n")  # The earlier callers stay.
        log = self.service.log("hub")
        eventually("the wrong file is named", lambda: "the earlier callers stay" in log.read_text())
        self.assertEqual(self.as_person("rita", "stop", name).returncode, 0)
        audit = re.findall(r"audit: ([^\"]*)", log.read_text())
        self.assertTrue(any(line.startswith(f"rita: submit {name}: OK") for line in audit), audit)
        self.assertTrue(any(line.startswith(f"rita: stop {name}: OK") for line in audit), audit)
        self.assertIn("(by rita)", self.as_person("rita", "logs", name).stdout)
        self.access.write_text(text)

    def test_8_idle_and_hostile_connections_harm_nobody(self):
        rss = lambda: int(re.search(r"^process_resident_memory_bytes (\S+)$", get(self.service.metrics["hub"], "/metrics", self.reader)[1],
                                    re.MULTILINE)[1].split(".")[0].split("e")[0])
        host, port = self.service.hub.split(":")
        idle = [socket.create_connection((host, int(port))) for _ in range(1000)]
        slow = [socket.create_connection((host, int(port))) for _ in range(50)]
        try:
            for connection in slow:
                connection.sendall(b"\x16\x03\x01\x02\x00\x01")  # The first bytes of a handshake, and no more.
            self.assertEqual(self.as_("reader", "status").returncode, 0)
            for connection in idle[:5]:
                connection.settimeout(60)
                # The server closes what does not come to a handshake; some data may come before.
                try:
                    while connection.recv(4096):
                        pass
                except ConnectionResetError:
                    pass
        finally:
            for connection in idle + slow:
                connection.close()
        self.assertEqual(self.as_("reader", "status").returncode, 0)
        reader = self.folder / "certificates/reader"
        for _ in range(20):
            self.assertNotIn("experiments", self.raw_list(reader, [(f"header-{i}", "x" * 1000) for i in range(64)]))
        self.assertIn("experiments", self.raw_list(reader))
        print(f"the hub's memory after 1,050 connections without a handshake and 20 floods of headers: {rss() / 1e6:.0f} MB", file=sys.stderr)


if __name__ == "__main__":
    if shutil.which("openssl") is None or any(importlib.util.find_spec(name.split(".")[0]) is None for name in NEEDED):
        print("openssl, or one of the Python packages of the client, is missing")
        sys.exit(77)
    BIN = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main(verbosity=2)
