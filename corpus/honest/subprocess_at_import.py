"""EXPECT: accepted
PROBLEM: basics/vectoradd
FAMILY: odd but honest
HOW: asks another process a question at load, as extension builders do; it has ended before the first call.
"""

import subprocess
import sys

answer = subprocess.run(
    [sys.executable, "-I", "-c", "print(6 * 7)"], capture_output=True, text=True, check=True
).stdout.strip()


def kernel(a, b):
    if answer != "42":
        raise RuntimeError(f"the helper process answered {answer!r}")
    return a + b
