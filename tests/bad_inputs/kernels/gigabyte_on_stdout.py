import os

for _ in range(1024):
    line = memoryview(b"x" * 1_048_575 + b"\n")
    while line:
        line = line[os.write(1, line) :]


def kernel(a, b):
    return a + b
