"""The errors that the client raises: one class a code, as docs/errors.md says of each what it means."""

import re


class Error(Exception):
    """Something was refused, or did not happen in time; the message says what, where and why.

    reason: in one word why a server refused it, such as "bad_priority" (docs/errors.md lists them); empty where no server
    did.
    """

    code = "UNKNOWN"
    reason = ""


class InvalidArgument(Error, ValueError):
    """What was given can never work: a wrong type, shape, range or name."""

    code = "INVALID_ARGUMENT"


class InvalidType(InvalidArgument, TypeError):
    """An argument is of a type that can never work; the message names it, what was got and what was wanted."""


class FailedPrecondition(Error):
    """Well formed, but not for what is there: another table of that name, a writer that is closed."""

    code = "FAILED_PRECONDITION"


class NotFound(Error, LookupError):
    """There is no table of that name."""

    code = "NOT_FOUND"


class AlreadyExists(Error):
    """The name is taken."""

    code = "ALREADY_EXISTS"


class PermissionDenied(Error):
    """The server does not allow it."""

    code = "PERMISSION_DENIED"


class ResourceExhausted(Error):
    """A limit was hit: memory, the size of a batch, the number of tables."""

    code = "RESOURCE_EXHAUSTED"


class DeadlineExceeded(Error, TimeoutError):
    """The time given was over. What was asked for may have been carried out."""

    code = "DEADLINE_EXCEEDED"


class Unavailable(Error, ConnectionError):
    """The server is away or stopping."""

    code = "UNAVAILABLE"


class Cancelled(Error):
    """It was closed meanwhile."""

    code = "CANCELLED"


class Aborted(Error):
    """Somebody else came first: begin the whole operation anew."""

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
    """The same error once more, to be raised: a traceback belongs to one raise only."""
    return from_code(error.code, str(error), error.reason)
