"""`hotlap calibrate`: what this machine can do, measured once and kept."""

from hotlap.cli import console, options, render
from hotlap.cli.judging import DEFAULT_DEVICE
from hotlap.cli.progress import reporting

EPILOG = options.examples("hotlap calibrate", "hotlap calibrate --json | jq .bandwidth")


def calibrate(
    device: options.DeviceName = None, json: options.JsonFlag = False, verbose: options.Verbose = False
) -> None:
    """Measure this machine's bandwidth, which gives every verdict its floor, and store it.

    Takes seconds. Do it once a machine, when nothing else runs; again after new memory, kernel or driver.
    """
    from hotlap.referee.device import open_device

    with (
        reporting(verbose=verbose) as report,
        open_device(device or DEFAULT_DEVICE, on_wait=report.waiting) as opened,
    ):
        from hotlap.calibrate import calibrate as measure

        calibration = measure(opened, report)
    if json:
        from hotlap.schema import to_dict

        console.print_json(to_dict(calibration))
    else:
        console.stdout().print(render.calibration(calibration))
