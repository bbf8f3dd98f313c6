"""Serves the actor that has started this process: the socket is descriptor 3, the shared memory descriptor 4.

With arguments it converts data sets instead (_datasets.py)."""

import os
import sys
import traceback

from waggle_environment import _wire
from waggle_environment._refused import Refused

_SOCKET = 3
_MEMORY = 4
_NEEDED = ("gymnasium", "numpy")


def _serve(connection):
    # Imported after dup2, because imports may print: output must go to the error stream.
    from waggle_environment._memory import VERSION, open_groups
    from waggle_environment._open import open_lanes

    lanes, groups = [], []
    while (message := connection.receive()) is not None:
        kind, number, content = message
        if kind == _wire.RUN:
            lanes[number].run(groups[number])
            connection.send_done(number)
        elif kind == _wire.OPEN:
            if content["version"] != VERSION:
                raise Refused(f"waggle-environment speaks version {VERSION}; the actor, {content['version']}: install "
                              "those of one release")
            lanes = open_lanes(content["scheme"], content["options"], content["lanes"])
            connection.send(_wire.SPEC, lanes[0].spec.to_json())
        elif kind == _wire.MEMORY:
            groups = open_groups(_MEMORY, lanes[0].spec)
            connection.send(_wire.READY)
    for one in lanes:
        one.close()


def _convert(arguments):
    try:
        from waggle_environment import _datasets

        return _datasets.main(*arguments)
    except ModuleNotFoundError as error:
        print(f"{sys.executable} has no module {error.name}; wanted one with gymnasium, numpy and h5py",
              file=sys.stderr)
        return 2


def main():
    os.dup2(2, 1)
    if len(sys.argv) > 1:
        return _convert(sys.argv[1:])
    connection = _wire.Connection(_SOCKET)
    try:
        _serve(connection)
    except KeyboardInterrupt:
        return 1
    except (BrokenPipeError, ConnectionResetError):
        return 0  # The actor has gone.
    except Exception as error:
        refused = isinstance(error, Refused)
        message = str(error) if refused else f"{type(error).__name__}: {error}"
        if isinstance(error, ModuleNotFoundError) and error.name in _NEEDED:
            refused = True
            message = (f"environment.python: {sys.executable} has no module {error.name}; wanted one with "
                       f"{' and '.join(_NEEDED)}, or install them: pip install {' '.join(_NEEDED)}")
        try:
            connection.send(_wire.ERROR, {
                "message": message, "final": refused, "traceback": "" if refused else traceback.format_exc()
            })
        except OSError:
            traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
