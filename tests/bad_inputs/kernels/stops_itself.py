import os
import signal


def kernel(a, b):
    os.kill(os.getpid(), signal.SIGSTOP)
    return a + b
