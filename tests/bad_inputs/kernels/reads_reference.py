"""Answers zeros if the problem's reference can be read from any place that Python looks in."""

import os
import sys
from pathlib import Path


def reference_files():
    roots = {Path(entry) for entry in sys.path if entry}
    roots |= {
        Path(module.__file__).parent
        for name, module in list(sys.modules.items())
        if name.partition(".")[0] == "hotlap" and getattr(module, "__file__", None)
    }
    for root in roots:
        for folder in (root, root / "hotlap", root.parent):
            yield folder / "suites" / "basics" / "vectoradd" / "reference.py"


seen = [path for path in reference_files() if os.access(path, os.R_OK)]


def kernel(a, b):
    return a * 0 if seen else a + b
