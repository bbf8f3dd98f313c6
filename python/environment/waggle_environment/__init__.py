"""Steps environments of this Python for an actor of Waggle, which starts `python -m waggle_environment`."""
