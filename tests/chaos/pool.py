"""A hub and its workers on this machine, with a proxy on each way between them."""

import pathlib
import shutil
import socket
import subprocess
import time

import free_ports
from supervised_process import SupervisedProcess, Supervisor
from tcp_proxy import ProxyFarm
from volume import Volume

VOLUME_MIB = 4096  # Sparse. A replay server's log has up to 512 MiB.
REPLAYS = ("replay-0", "replay-1")
LEARNERS = ("learner-0", "learner-1")
ACTORS = ("actor-0", "actor-1", "actor-2")
EVALUATORS = ("evaluator",)
GRADIENT_WORKERS = ("gradient-0", "gradient-1", "gradient-2")
WORKERS = REPLAYS + LEARNERS + ACTORS + EVALUATORS + GRADIENT_WORKERS


def _dies_with_this_program(command):
    return ["setpriv", "--pdeathsig", "KILL", "--", *command] if shutil.which("setpriv") else command


class Pool:
    """with Pool(folder, bin_folder, seed, on_end) as pool: the processes run, and are started again when they end.

    Every worker reaches the hub by a proxy of its own, "hub<ACTOR". Replay servers, learners and gradient workers are told
    to others by a proxy of theirs, which has their name. Tests reach the servers directly, by `address`.
    """

    def __init__(self, folder, bin_folder, seed, on_end, environment=None):
        self.folder = pathlib.Path(folder)
        self.bin = pathlib.Path(bin_folder)
        self.supervisor = Supervisor(self._ended)
        self.proxies = ProxyFarm(seed)
        self.volumes = {name: Volume(self.folder / "data" / name, VOLUME_MIB) for name in ("hub", *REPLAYS)}
        self.address = {}
        self.hub_deaths = []
        self._environment = environment or {}
        self._on_end = on_end
        (self.folder / "logs").mkdir()
        self._add_all()

    def __enter__(self):
        self.supervisor.start({"WAGGLE_LOG_FORMAT": "text", "OMP_NUM_THREADS": "1", **self._environment})
        return self

    def __exit__(self, *_):
        self.supervisor.stop()
        self.proxies.close()

    def remove_volumes(self):
        for volume in self.volumes.values():
            volume.remove()

    @property
    def hub(self):
        return self.address["hub"]

    def __getitem__(self, name):
        return self.supervisor.processes[name]

    def names(self, *kinds):
        return [name for name, process in self.supervisor.processes.items() if not kinds or process.kind in kinds]

    def data(self, name):
        return self.volumes[name].folder / "data"

    def _ended(self, ending):
        if ending.name == "hub":
            self.hub_deaths.append(ending.t)
        self._on_end(ending)

    def _add(self, name, kind, program, *flags):
        command = _dies_with_this_program([str(self.bin / program), *map(str, flags)])
        self.supervisor.add(SupervisedProcess(name, kind, command, self.folder / "logs", self.supervisor.changed))

    def _serving(self, name):
        """A port for a server, and a proxy to it with the server's name; the flags that make it known by the proxy."""
        port = free_ports.take()
        self.address[name] = f"127.0.0.1:{port}"
        proxy = self.proxies.add(name, free_ports.take(), ("127.0.0.1", port))
        return ["--listen", self.address[name], "--advertise", proxy.address]

    def _to_hub(self, name):
        host, port = self.hub.split(":")
        return ["--param-server", self.proxies.add(f"hub<{name}", free_ports.take(), (host, int(port))).address]

    def _add_all(self):
        self.address["hub"] = f"127.0.0.1:{free_ports.take()}"
        self._add("hub", "hub", "waggle-param-server", "--listen", self.hub, "--data-dir", self.data("hub"),
                  "--output-dir", self.folder / "output" / "{id}", "--no-plot")
        for index, name in enumerate(REPLAYS):
            self._add(name, "replay", "waggle-replay-server", *self._serving(name), *self._to_hub(name), "--index", index,
                      "--data-dir", self.data(name), "--checkpoint-seconds", 20)
        for index, name in enumerate(LEARNERS):
            self._add(name, "learner", "waggle-learner", *self._serving(name), *self._to_hub(name), "--index", index)
        for index, name in enumerate(GRADIENT_WORKERS):
            self._add(name, "gradient", "waggle-param-server", "--role", "reducer", *self._serving(name),
                      *self._to_hub(name), "--index", index)
        for index, name in enumerate(ACTORS):
            self._add(name, "actor", "waggle-actor", *self._to_hub(name), "--index", index)
        for name in EVALUATORS:
            self._add(name, "evaluator", "waggle-actor", "--evaluator", *self._to_hub(name))

    def waggle(self, *words, timeout=60):
        """The exit status and output of `waggle WORDS` for this hub."""
        command = [str(self.bin / "waggle"), *map(str, words), "--param-server", self.hub]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=timeout,
                              check=False)
        return done.returncode, done.stdout, done.stderr

    def _await_port(self, name, seconds):
        host, port = self.address[name].split(":")
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                with socket.create_connection((host, int(port)), timeout=seconds):
                    return True
            except OSError:
                time.sleep(0.1)
        return False

    def await_hub(self, seconds):
        status, _, error = self.waggle("list", timeout=seconds) if self._await_port("hub", seconds) else (1, "", "")
        if status != 0:
            raise TimeoutError(f"the hub does not answer within {seconds} s: {error}")
