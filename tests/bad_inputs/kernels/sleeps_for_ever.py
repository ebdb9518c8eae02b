import time


def kernel(a, b):
    time.sleep(1e9)
