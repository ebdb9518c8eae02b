# expect: failed
# fault: submission
# reason: exited with code 3 before it answered
# problem: basics/vectoradd
import os


def kernel(a, b):
    os._exit(3)
