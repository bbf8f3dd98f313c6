"""A small service for tests of its metrics: a hub, and a process of each kind, each with a port for metrics."""

import os
import pathlib
import socket
import ssl
import subprocess
import time
import urllib.error
import urllib.request

PATIENCE = 300  # Seconds after which an expected event counts as missing.


def free_address():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return "127.0.0.1:%d" % probe.getsockname()[1]


def eventually(what, condition):
    """Waits until condition() is true, and returns its value."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.1)
    raise AssertionError(f"{what}: it did not happen within {PATIENCE} s")


def get(address, path, certificates=None, headers={}, data=None):
    """The status and the text at http://ADDRESS/PATH; (0, "") if there is no answer. With a folder of certificates it
    comes by https, with the certificate there if there is one. With data it is a POST."""
    context, scheme = None, "http"
    if certificates is not None:
        scheme, context = "https", ssl.create_default_context(cafile=certificates / "ca.crt")
        context.check_hostname = False  # Servers share the name server.waggle.
        if (certificates / "tls.crt").exists():
            context.load_cert_chain(certificates / "tls.crt", certificates / "tls.key")
    try:
        request = urllib.request.Request(f"{scheme}://{address}{path}", headers=headers, data=data)
        with urllib.request.urlopen(request, timeout=20, context=context) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError:
        return 0, ""


class Service:
    def __init__(self, bin_folder, folder, flags=None):
        """flags: further words of a part's command line, by part."""
        self.bin = pathlib.Path(bin_folder)
        self.folder = pathlib.Path(folder)
        self.hub = free_address()
        self.metrics = {}  # By part.
        self.processes = {}
        environment = dict(os.environ, OMP_NUM_THREADS="1", WAGGLE_LOG_FORMAT="json")
        worker = ["--param-server", self.hub]
        listen = ["--listen", "127.0.0.1:0"]
        for part, command in {
                "hub": ["waggle-param-server", "--listen", self.hub, "--data-dir", str(self.folder / "hub"), "--no-plot"],
                "replay": ["waggle-replay-server", *worker, *listen, "--data-dir", str(self.folder / "replay")],
                "learner": ["waggle-learner", *worker],
                "actor": ["waggle-actor", *worker],
                "evaluator": ["waggle-actor", "--evaluator", *worker],
                "reducer": ["waggle-param-server", "--role", "reducer", *worker, *listen]}.items():
            self.metrics[part] = free_address()
            with open(self.log(part), "w") as log:
                self.processes[part] = subprocess.Popen(
                    [self.bin / command[0], *command[1:], "--metrics-listen", self.metrics[part], *(flags or {}).get(part, [])],
                    stdout=log, stderr=log, env=environment)

    def log(self, part):
        return self.folder / f"{part}.log"

    def waggle(self, *words, env=None):
        return subprocess.run([self.bin / "waggle", *words, "--param-server", self.hub], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=env)

    def kill(self, part):
        self.processes[part].kill()
        self.processes[part].wait()

    def end(self):
        for process in self.processes.values():
            process.terminate()
        return {part: process.wait() for part, process in self.processes.items()}
