"""Leaves a process in a session of its own that ignores SIGTERM; it must not outlive the run."""

import os
import signal
import time

if os.fork() == 0:
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        time.sleep(0.1)


def kernel(a, b):
    return a + b
