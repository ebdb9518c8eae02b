"""Lower this process's resource limits for good, then become another program.

python -I limits.py '{"RLIMIT_CORE": 0}' PROGRAM [ARGUMENT ...]

A hard limit that was lowered cannot be raised again without a capability that the sandbox dropped.
"""

import json
import os
import resource
import sys


def lower(limits: dict[str, int]) -> None:
    """Set each named limit, soft and hard, never above the present hard one."""
    for name, value in limits.items():
        kind = getattr(resource, name)
        hard = resource.getrlimit(kind)[1]
        bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (bound, bound))


if __name__ == "__main__":
    lower(json.loads(sys.argv[1]))
    os.execvp(sys.argv[2], sys.argv[2:])
