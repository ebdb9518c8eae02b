# expect: failed
# fault: submission
# reason: output y has dtype \S*float64
# problem: basics/vectoradd


def kernel(a, b):
    return a.double() + b
