def prepare(axes):
    raise RuntimeError("no schedule for these axes")


def kernel(a, b):
    return a + b
