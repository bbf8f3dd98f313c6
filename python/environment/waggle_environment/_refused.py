"""The error for what cannot be had; this module needs nothing but Python."""


class Refused(Exception):
    """Something that the environment has and Waggle cannot take, or that is not there: one sentence says it."""
