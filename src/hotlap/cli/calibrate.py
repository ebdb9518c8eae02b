"""`hotlap calibrate`: what this machine can do, measured once and kept."""

from typing import Annotated

import typer

from hotlap.cli import console, options, render
from hotlap.cli.judging import DEFAULT_DEVICE
from hotlap.cli.progress import reporting

EPILOG = options.examples(
    "hotlap calibrate", "hotlap calibrate --device cuda", "hotlap calibrate --json | jq .bandwidth"
)


def calibrate(
    device: Annotated[
        str, typer.Option("--device", metavar="cpu|cuda|cuda:N", help="What to measure; cuda is cuda:0.")
    ] = DEFAULT_DEVICE,
    json: options.JsonFlag = False,
    verbose: options.Verbose = False,
) -> None:
    """Measure a device's bandwidth, which gives every verdict its floor, and store it.

    Takes seconds. Do it once a device, when nothing else runs; again after new memory, kernel or driver.
    """
    from hotlap.referee.device import open_device

    with (
        reporting(verbose=verbose) as report,
        open_device(device, on_wait=report.waiting) as opened,
    ):
        from hotlap.calibrate import calibrate as measure

        calibration = measure(opened, report)
    if json:
        from hotlap.schema import to_dict

        console.print_json(to_dict(calibration))
    else:
        console.stdout().print(render.calibration(calibration))
