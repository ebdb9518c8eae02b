"""Every ceiling of a device with its interval, n, and the seconds that measuring it took.

`--device cuda` for a GPU. What cannot be measured is told in its row and hides no other.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

import common

from hotlap.calibrate.machine import memory_ceilings, rates, ways_of
from hotlap.cli.render import ceiling_value
from hotlap.model import Ceiling
from hotlap.referee.case import silent
from hotlap.referee.device import open_device
from hotlap.roofline import ceiling


def rows_of(name: str, measure: Callable[[], Sequence[Ceiling]]) -> list[dict[str, Any]]:
    """A row a ceiling, or one that says why there is none."""
    start = time.monotonic()
    try:
        found = measure()
    except Exception as error:  # the others are measured all the same
        return [{"name": name, "error": f"{type(error).__name__}: {error}"}]
    took_s = time.monotonic() - start
    return [
        {
            "name": one.name,
            "shown": ceiling_value(one),
            "unit": one.unit,
            "median": one.value.estimate,
            "interval": (one.value.ci_low, one.value.ci_high),
            "n": one.value.n,
            "took_s": took_s / len(found),
        }
        for one in found
    ]


def measure(device_name: str) -> tuple[dict[str, Any], list[str]]:
    rows: list[dict[str, Any]] = []
    with open_device(device_name) as device:
        info = device.info

        def of_memory() -> list[Ceiling]:
            measured = rates(device, silent)
            return memory_ceilings(measured[max(measured)])

        rows += rows_of("memory", of_memory)
        for name, way in ways_of(device).items():
            rows += rows_of(name, lambda name=name, way=way: [ceiling(name, way())])  # type: ignore[misc]
    lines = [f"{info.name}, driver {info.driver}", f"{'ceiling':20}{'median':36}{'n':>4}{'took':>8}"]
    lines += [
        f"{row['name']:20}{row['error']}"
        if "error" in row
        else f"{row['name']:20}{row['shown']:36}{row['n']:4}{row['took_s']:6.1f} s"
        for row in rows
    ]
    return {"device": info.name, "driver": info.driver, "ceilings": rows}, lines


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.add_argument("--device", default="cpu", help="cpu, cuda or cuda:N")
    options = parser.parse_args()
    common.report(__doc__, options.json, lambda: measure(options.device))
