# expect: failed
# fault: submission
# reason: returned None
# problem: basics/vectoradd


def kernel(a, b):
    a + b
