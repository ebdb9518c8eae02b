# expect: accepted|void
# problem: basics/vectoradd
# timed: yes
# Keeps a kernel of some 30 ms running all the time. Where it runs while inputs are copied, whose it is cannot
# be told, so the round is void and nobody's fault; launched after GO it only slows the kernel's own calls.
import torch

side = torch.cuda.Stream()


def kernel(a, b):
    if side.query():
        with torch.cuda.stream(side):
            torch.cuda._sleep(60_000_000)  # cycles, some 30 ms
    return a + b
