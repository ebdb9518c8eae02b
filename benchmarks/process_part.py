"""Where a pair's own part comes from: does it change when graphs are captured anew in the same processes, or
only with new processes? `process_part.py --kind matrix --pairs 8`. Needs a GPU.
"""

import argparse
import json
import os
import statistics

from common import own_home

from hotlap.calibrate.duels import DUEL, match_of_kind
from hotlap.duel import start_rivals
from hotlap.referee.cuda_device import CudaDevice
from hotlap.referee.device import open_device
from hotlap.referee.rivals import summed_up
from hotlap.stats.hodges_lehmann import hodges_lehmann
from hotlap.stats.variance import variance_components


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", default="matrix")
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--captures", type=int, default=3)
    parser.add_argument("--blocks", type=int, default=6)
    options = parser.parse_args()
    with own_home(), open_device("cuda:0", warm=4) as device:
        if not isinstance(device, CudaDevice):
            raise SystemExit("needs a GPU that can be refereed")
        match = match_of_kind(device, options.kind)
        bench = match.benches[0]
        found: list[list[float]] = []
        withins: list[float] = []
        for pair in range(options.pairs):
            rivals = start_rivals(device, match.rivals, pair % 2 == 1)
            captures = []
            try:
                for _ in range(options.captures):
                    rivals.settle(bench)
                    orders = [bool(byte & 1) for byte in os.urandom(options.blocks)]
                    given = summed_up(
                        list(rivals.blocks(bench, orders, [[0]] * (2 * len(orders)), 64)), bench.calls
                    )
                    if given is not None:
                        captures.append(hodges_lehmann(given.effects))
                        withins.append(statistics.stdev(given.effects))
            finally:
                rivals.close()
            found.append(captures)
            print(pair, [f"{effect:+.4%}" for effect in captures], flush=True)
    parts = variance_components(found)
    sd = statistics.median(withins)
    print(
        json.dumps(
            {
                "block_sd": sd,
                "expected_of_blocks_alone": sd / options.blocks**0.5,
                "between_captures_of_a_pair": parts.within,
                "between_pairs": parts.between,
                "pairs": options.pairs,
                "tier_blocks": DUEL.blocks,
            }
        )
    )


if __name__ == "__main__":
    main()
