"""The right answer: the kernel that the bad problem folders are judged with."""


def kernel(a, b):
    return a + b
