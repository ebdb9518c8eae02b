# expect: failed
# fault: submission
# reason: output y .*\bcpu\b
# problem: basics/vectoradd


def kernel(a, b):
    return (a + b).cpu()
