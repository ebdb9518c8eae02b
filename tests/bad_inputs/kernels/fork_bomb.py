"""Forks in every process until the limit; then the first process raises and the others stay."""

import os
import time


def kernel(a, b):
    first = os.getpid()
    while True:
        try:
            os.fork()
        except OSError:
            if os.getpid() == first:
                raise
            time.sleep(1e9)
