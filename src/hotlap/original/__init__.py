"""A KernelBot folder judged by its own eval script, unmodified: the protocol of the place it comes from.

Nothing that is found here ranks: clock, checker and submission share a process, so what it says of itself is
`self-reported`. A verdict comes from `hotlap.verdict` alone.
"""
