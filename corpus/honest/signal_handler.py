"""EXPECT: accepted
PROBLEM: basics/vectoradd
FAMILY: twin of sigcont_timer
TWIN_OF: signal-timer
HOW: installs a handler that would close its log, and sleeps a millisecond at load: signals and time, but no
    timer and nothing that wakes a stopped process.
"""

import signal
import time

log = []


def close_log(signum, frame):
    log.append(signum)


signal.signal(signal.SIGUSR1, close_log)
time.sleep(0.001)


def kernel(a, b):
    return a + b
