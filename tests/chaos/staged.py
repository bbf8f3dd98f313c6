"""Makes what the tests import from the checkout: the Python client, and the messages of all services."""

import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DESCRIPTORS = "waggle.binpb"  # Of all of proto/waggle/v1.


def stage(folder):
    """Lays the Python client out in `folder` as an installation does, beside the descriptors of the whole protocol."""
    folder = pathlib.Path(folder)
    package = folder / "waggle_client"
    shutil.rmtree(package, ignore_errors=True)
    shutil.copytree(ROOT / "python" / "waggle_client", package,
                    ignore=shutil.ignore_patterns("*.binpb", "__pycache__"))
    subprocess.run([sys.executable, ROOT / "python" / "proto_build.py", package / "waggle_v1.binpb"], check=True)
    protocol = ROOT / "proto"
    subprocess.run(["protoc", f"--proto_path={protocol}", "--include_imports", f"--descriptor_set_out={folder / DESCRIPTORS}",
                    *sorted(str(file.relative_to(protocol)) for file in protocol.glob("waggle/v1/*.proto"))], check=True)
    return folder
