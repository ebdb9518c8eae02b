from pathlib import Path


def kernel(a, b):
    Path(__file__).write_text("x")
    return a + b
