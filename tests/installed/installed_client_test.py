#!/usr/bin/env python3
"""Installs the C++ client into an empty folder, builds its example with find_package(Waggle), and runs it.

usage: installed_client_test.py BUILD_DIR SOURCE_DIR
"""

import pathlib
import re
import subprocess
import sys
import tempfile


def run(*command, timeout=600):
    finished = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout)
    if finished.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{finished.stdout}")
    return finished.stdout


def start_server(binary):
    server = subprocess.Popen([binary, "--listen", "127.0.0.1:0"], text=True, stderr=subprocess.STDOUT,
                              stdout=subprocess.PIPE)
    for line in server.stdout:
        if found := re.search(r"serving replay on (\S+)", line):
            return server, found[1]
    sys.exit("the replay server did not start")


def main():
    build, source = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        prefix, example = pathlib.Path(folder, "prefix"), pathlib.Path(folder, "example")
        run("cmake", "--install", build, "--component", "replay_client", "--prefix", prefix)
        run("cmake", "-S", source / "examples/replay_client", "-B", example, "-G", "Ninja",
            f"-DCMAKE_PREFIX_PATH={prefix}")
        run("cmake", "--build", example)
        server, address = start_server(build / "bin/waggle-replay-server")
        try:
            output = run(example / "replay_client_example", address, timeout=60)
        finally:
            server.terminate()
            server.wait(timeout=30)
    print(output)
    items, samples, priorities = map(int, re.search(r"(\d+) items, (\d+) samples, (\d+) new", output).groups())
    if items != 5000 - 50 * 3 or samples < 20 * 256 or priorities != 20 * 256:
        sys.exit("the example did not do what it says")


main()
