"""Encrypted connections, with certificates or a token."""

import os
import pathlib
from typing import Optional

import grpc

from waggle_client import _check, errors

_AUTHORITIES, _CERTIFICATE, _KEY = "ca.crt", "tls.crt", "tls.key"
_TLS_VARIABLE, _TOKEN_VARIABLE, _NAME_VARIABLE = "WAGGLE_TLS", "WAGGLE_TOKEN_FILE", "WAGGLE_SERVER_NAME"
SERVER_NAME = "server.waggle"


class Security:
    """How a client's channels are secured: docs/security.md. Immutable; the files may be replaced at any time."""

    def __init__(self, tls: Optional[os.PathLike], token_file: Optional[os.PathLike], server_name: Optional[str]):
        """None stands for the environment variables WAGGLE_TLS, WAGGLE_TOKEN_FILE and WAGGLE_SERVER_NAME; "" for none."""
        for argument, value in (("tls", tls), ("token_file", token_file)):
            if value is not None and not isinstance(value, (str, os.PathLike)):
                raise _check.wrong_type(argument, value, "a path")
        if server_name is not None and not isinstance(server_name, str):
            raise _check.wrong_type("server_name", server_name, "a name, such as server.waggle")
        tls = os.environ.get(_TLS_VARIABLE, "") if tls is None else tls
        token_file = os.environ.get(_TOKEN_VARIABLE, "") if token_file is None else token_file
        self._name = os.environ.get(_NAME_VARIABLE, SERVER_NAME) if server_name is None else server_name
        self._folder = pathlib.Path(tls) if tls else None
        self._token_file = pathlib.Path(token_file) if token_file else None
        if self._token_file is not None and self._folder is None:
            raise errors.InvalidArgument(
                f"token_file: got {self._token_file} without tls; wanted both, because tokens must not travel in plain text"
            )
        if self._folder is not None:
            self._credentials()  # Says now what is wrong.

    def _read(self, path):
        try:
            return path.read_bytes()
        except OSError as error:
            raise errors.FailedPrecondition(f"{path}: cannot read: {error.strerror}") from error

    def _credentials(self):
        authorities = self._read(self._folder / _AUTHORITIES)
        has = [(self._folder / name).exists() for name in (_CERTIFICATE, _KEY)]
        own = [self._read(self._folder / name) for name in (_KEY, _CERTIFICATE)] if any(has) else [None, None]
        credentials = grpc.ssl_channel_credentials(authorities, *own)
        if self._token_file is not None:
            token = self._read(self._token_file).decode(errors="replace").split("\n", 1)[0].strip()
            credentials = grpc.composite_channel_credentials(credentials, grpc.access_token_call_credentials(token))
        return credentials

    def stamp(self):
        """Changes when a file has been replaced: gRPC's channels keep the files that they began with."""
        stamps = []
        if self._folder is not None:
            for path in (*(self._folder / name for name in (_AUTHORITIES, _CERTIFICATE, _KEY)), self._token_file):
                try:
                    state = path.stat() if path is not None else None
                    stamps.append(state and (state.st_ino, state.st_mtime_ns))
                except OSError:
                    stamps.append(None)
        return stamps

    def channel(self, address, options):
        if self._folder is None:
            return grpc.insecure_channel(address, options=options)
        if self._name:
            options = (*options, ("grpc.ssl_target_name_override", self._name))
        return grpc.secure_channel(address, self._credentials(), options=options)
