import time

time.sleep(1e9)


def kernel(a, b):
    return a + b
