import ctypes


def kernel(a, b):
    ctypes.string_at(0)
