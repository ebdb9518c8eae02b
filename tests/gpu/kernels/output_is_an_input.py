# expect: wrong
# fault: submission
# reason: output y
# problem: basics/vectoradd


def kernel(a, b):
    return a
