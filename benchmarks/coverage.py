"""Does the interval of a `run`'s speedup cover what a long duel says of the same two kernels?

The kernel is a solution of calibration/matrix, its rival the library call that is the baseline. Both use what
`hotlap calibrate` found of this machine. Ctrl-C ends it with the runs so far.
"""

import argparse
import contextlib
import json
import math
import sys

from common import half_width, spread

from hotlap.calibrate import load_calibration
from hotlap.duel import duel
from hotlap.problems.find import find
from hotlap.referee.device import open_device
from hotlap.stats.proportion import clopper_pearson
from hotlap.verdict import read_submission, verdict

KERNELS = {"cpu": "four_rows.cpp", "cuda": "triton_tiles.py"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--device", choices=tuple(KERNELS), default="cpu")
    parser.add_argument("--max-seconds", type=float, default=120.0, help="of the duel")
    options = parser.parse_args()
    problem = find("calibration/matrix")
    solutions = problem.folder / "solutions" / "correct"
    library = read_submission(solutions / "torch_out.py")
    kernel = read_submission(solutions / KERNELS[options.device])
    intervals: list[tuple[float, float]] = []
    with open_device(options.device) as device:
        calibration = load_calibration(device.info)
        truth = duel(
            problem,
            library,
            kernel,
            device,
            calibration,
            last_tier="final",
            max_seconds=options.max_seconds,
        )
        if truth.effect is None or truth.ci is None:
            raise SystemExit(f"the duel gave no interval: {truth.reason}")
        speedup = math.exp(-truth.effect)
        with contextlib.suppress(KeyboardInterrupt):
            for run in range(options.runs):
                score = verdict(problem, kernel, device, calibration).score
                if score is not None and score.speedup_ci is not None:
                    intervals.append(score.speedup_ci)
                    print(f"run {run + 1}: {score.speedup_ci}; the duel says {speedup:.5f}", file=sys.stderr)
    held = sum(low <= speedup <= high for low, high in intervals)
    found = {
        "duel": [speedup, math.exp(-truth.ci[1]), math.exp(-truth.ci[0])],
        "tier": truth.tier,
        "pairs": truth.pairs,
        "runs": len(intervals),
        "held": held,
        "share_95": clopper_pearson(held, len(intervals)),
        "half_width": spread([half_width(interval) for interval in intervals]),
    }
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
