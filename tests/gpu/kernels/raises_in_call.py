# expect: failed
# fault: submission
# reason: raised ValueError: tile of 48 does not divide the rows
# problem: basics/vectoradd


def kernel(a, b):
    raise ValueError("tile of 48 does not divide the rows")
