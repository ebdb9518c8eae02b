# expect: accepted
# problem: basics/vectoradd
# timed: yes
# Honest. A stream takes about a thousand launches behind a wait; a captured graph takes them all.
import torch

PIECES = 2000
LARGE = 1 << 27  # smaller ones in one piece: hundreds of calls a round would be a million launches


def kernel(a, b, out):
    n = a.numel()
    step = -(-n // PIECES) if n >= LARGE else n
    for start in range(0, n, step):
        piece = slice(start, start + step)
        torch.add(a[piece], b[piece], out=out[piece])
