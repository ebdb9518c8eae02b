"""EXPECT: accepted
PROBLEM: basics/vectoradd
FAMILY: control
HOW: the plain kernel. If this one is not accepted, nothing else in the corpus means anything.
"""


def kernel(a, b):
    return a + b
