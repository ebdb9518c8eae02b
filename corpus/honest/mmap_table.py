"""EXPECT: accepted
PROBLEM: basics/vectoradd
FAMILY: twin of early_done
TWIN_OF: foreign-memory
HOW: maps a lookup table that it wrote itself, and reads the processor's name from /proc/cpuinfo: memory and
    /proc, but nobody else's.
"""

import mmap
import tempfile

import torch

BLOCK_ELEMENTS = bytes(min(bits, 16) for bits in range(64))  # log2 of the block size, by bits of n


def write_table():
    with tempfile.TemporaryFile() as table:
        table.write(BLOCK_ELEMENTS)
        table.flush()
        return mmap.mmap(table.fileno(), 0, access=mmap.ACCESS_READ)


table = write_table()
with open("/proc/cpuinfo") as cpuinfo:
    processor = next((line for line in cpuinfo if line.startswith("model name")), "unknown")


def kernel(a, b, out):
    n = a.numel()
    block = 1 << table[n.bit_length()]
    for start in range(0, n, block):
        torch.add(a[start : start + block], b[start : start + block], out=out[start : start + block])
