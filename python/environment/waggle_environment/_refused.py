"""The error for impossible environments; this module needs only Python."""


class Refused(Exception):
    """Waggle cannot take a part of the environment, or a part is missing. The message is one sentence."""
