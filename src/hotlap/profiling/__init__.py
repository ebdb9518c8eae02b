"""What a kernel spends its time on: profilers' numbers, read into one summary that names the bottleneck.

Nothing here judges and no time here counts: a profiler slows what it looks at. A verdict comes from
`hotlap.verdict` alone.
"""
