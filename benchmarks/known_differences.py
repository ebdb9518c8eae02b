"""How long a duel takes to find a known difference, and how often it does: a calibration kernel against
itself, slowed by a wait whose length is measured. `known_differences.py --device cuda --shares 0.02 0.001`.
"""

import argparse
import dataclasses
import json
import time

from common import spread

from hotlap.calibrate import load_calibration
from hotlap.calibrate.duels import KINDS, match_of_kind, slow
from hotlap.duel import UNCALIBRATED_PART, allowed_margin, play, standing
from hotlap.referee.cpu_device import CpuDevice
from hotlap.referee.cuda_device import CudaDevice
from hotlap.referee.device import open_device
from hotlap.stats.proportion import clopper_pearson


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--kind", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--shares", nargs="+", type=float, default=[0.02, 0.001])
    parser.add_argument("--duels", type=int, default=3, help="of each kind and share")
    options = parser.parse_args()
    with open_device(options.device, warm=6) as device:
        if not isinstance(device, CpuDevice | CudaDevice):
            raise SystemExit("needs a device with the referee's clock")
        calibration = load_calibration(device.info)
        floor95 = calibration.floor95 if calibration else None
        part = calibration.pair_part if calibration else None
        for kind in options.kind:
            match = match_of_kind(device, kind)
            match.margin = allowed_margin(None, floor95, device.info.kind)
            match.part = UNCALIBRATED_PART[device.info.kind] if part is None else part
            for share in options.shares:
                true_effect = slow(device, match, share)
                seconds, tiers, pairs, timed_s, right = [], [], [], [], 0
                effects = []
                for _ in range(options.duels):
                    device.warm_up(6)
                    again = dataclasses.replace(match, pairs=0, timed_ns=0, found=[], overlaps=[])
                    begun = time.monotonic()
                    play(again, "duel")
                    seconds.append(time.monotonic() - begun)
                    given = standing(again)
                    right += given.faster == "a"
                    tiers.append(again.tier.name)
                    pairs.append(again.pairs)
                    timed_s.append(again.timed_ns / 1e9)
                    effects.append(given.effect)
                found = {
                    "kind": kind,
                    "true_effect": true_effect,
                    "effects": effects,
                    "margin": match.margin,
                    "found": right,
                    "share_95": clopper_pearson(right, options.duels),
                    "seconds": spread(seconds),
                    "tiers": tiers,
                    "pairs": pairs,
                    "timed_s": spread(timed_s),
                }
                print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
