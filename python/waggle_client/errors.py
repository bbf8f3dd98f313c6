"""The errors that the client raises: one class for each code of docs/errors.md."""

import re


class Error(Exception):
    """A call was refused, or did not end in time; the message says what, where and why.

    reason: the server's reason for a refusal in one word, such as "bad_priority" (docs/errors.md lists them); empty if
        no server refused.
    """

    code = "UNKNOWN"
    reason = ""


class InvalidArgument(Error, ValueError):
    """An argument can never work: a wrong type, shape, range or name."""

    code = "INVALID_ARGUMENT"


class InvalidType(InvalidArgument, TypeError):
    """An argument has a type that can never work; the message names it, its type and the wanted one."""


class FailedPrecondition(Error):
    """The call is well formed, but does not fit the state: another table of that name, a closed writer."""

    code = "FAILED_PRECONDITION"


class NotFound(Error, LookupError):
    """There is no table of that name."""

    code = "NOT_FOUND"


class AlreadyExists(Error):
    """The name is taken."""

    code = "ALREADY_EXISTS"


class Unauthenticated(Error):
    """The server knows neither the certificate nor the token."""

    code = "UNAUTHENTICATED"


class PermissionDenied(Error):
    """The server does not allow it, for example to this caller's role."""

    code = "PERMISSION_DENIED"


class ResourceExhausted(Error):
    """A limit was hit: memory, the size of a batch, the number of tables."""

    code = "RESOURCE_EXHAUSTED"


class DeadlineExceeded(Error, TimeoutError):
    """The time was over. The request may have been carried out."""

    code = "DEADLINE_EXCEEDED"


class Unavailable(Error, ConnectionError):
    """The server is away or stopping."""

    code = "UNAVAILABLE"


class Cancelled(Error):
    """The object was closed meanwhile."""

    code = "CANCELLED"


class Aborted(Error):
    """Another client came first: begin the whole operation anew."""

    code = "ABORTED"


class DataLoss(Error):
    """Bytes are damaged or missing."""

    code = "DATA_LOSS"


class Internal(Error):
    """A bug of Waggle; please report it."""

    code = "INTERNAL"


_CLASSES = {error.code: error for error in Error.__subclasses__()}


def from_code(code, message, reason=""):
    """The error of this code, by its name in gRPC."""
    made = _CLASSES.get(code, Error)(message)
    made.code = code
    made.reason = reason if re.fullmatch("[a-z_]{0,64}", reason) else ""
    return made


def again(error):
    """A copy of the error, to be raised again: a traceback belongs to one raise only."""
    return from_code(error.code, str(error), error.reason)
