# expect: failed
# fault: submission
# reason: output y has shape
# problem: basics/vectoradd


def kernel(a, b):
    return (a + b)[None]
