"""Writes to its temporary folder until that is full."""

import tempfile


def kernel(a, b):
    with tempfile.TemporaryFile(buffering=0) as file:
        while True:
            file.write(b"x" * (16 << 20))
