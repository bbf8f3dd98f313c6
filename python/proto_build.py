"""Compiles proto/waggle/v1 to the one file of descriptors from which waggle_client makes its messages.

usage: proto_build.py OUTPUT
"""

import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
FILES = ("waggle/v1/tensor.proto", "waggle/v1/status.proto", "waggle/v1/replay.proto")
NAME = "waggle_v1.binpb"


def proto_root():
    """The folder of the .proto files: beside this file in a source distribution, else at the top of a checkout."""
    candidates = (HERE / "proto", HERE.parent / "proto")
    for candidate in candidates:
        if all((candidate / file).is_file() for file in FILES):
            return candidate
    raise FileNotFoundError(f"found no {FILES[0]} in {' or '.join(map(str, candidates))}")


def compile_to(output):
    """Writes the descriptors, by the compiler that comes with grpcio-tools or else by the `protoc` of the system."""
    root = proto_root()
    pathlib.Path(output).parent.mkdir(parents=True, exist_ok=True)
    arguments = [f"--proto_path={root}", "--include_imports", f"--descriptor_set_out={output}", *FILES]
    failures = []
    for compiler in ([sys.executable, "-m", "grpc_tools.protoc"], ["protoc"]):
        try:
            done = subprocess.run([*compiler, *arguments], capture_output=True, text=True, check=False)
        except FileNotFoundError:
            failures.append(f"{compiler[0]}: not installed")
            continue
        if done.returncode == 0:
            return
        failures.append(f"{' '.join(compiler)}: {done.stderr.strip()}")
    raise RuntimeError("cannot compile the .proto files:\n" + "\n".join(failures))


if __name__ == "__main__":
    compile_to(sys.argv[1])
