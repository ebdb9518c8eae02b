"""The `hotlap` command: its verbs, and what each kind of failure says and exits with.

| exit | means |
|---|---|
| 0 | accepted, or the command did what it was asked |
| 1 | the kernel is wrong, failed or suspect |
| 2 | usage, or the problem is at fault before judging |
| 3 | void: the device or hotlap itself is at fault |
| 130 | interrupted |
"""

import os
import signal
import sys
import traceback
from collections.abc import Sequence
from io import TextIOWrapper
from typing import Annotated

import typer

from hotlap import __version__
from hotlap.cli import (
    audit,
    calibrate,
    check,
    console,
    demo,
    doctor,
    duel,
    init,
    problems,
    profile,
    question,
    run,
    schema,
    show,
    suite,
)
from hotlap.errors import DeviceError, HarnessError, HotlapError

_VERBS = (
    (problems.problems, problems.EPILOG),
    (show.show, show.EPILOG),
    (init.init, init.EPILOG),
    (audit.audit, audit.EPILOG),
    (check.check, check.EPILOG),
    (run.run, run.EPILOG),
    (duel.duel, duel.EPILOG),
    (profile.profile, profile.EPILOG),
    (question.question, question.EPILOG),
    (calibrate.calibrate, calibrate.EPILOG),
    (schema.schema, schema.EPILOG),
    (doctor.doctor, doctor.EPILOG),
    (demo.demo, demo.EPILOG),
)

app = typer.Typer(
    name="hotlap",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="New here?  hotlap demo\n\nThen:  hotlap init basics/vectoradd",
)
for _verb, _epilog in _VERBS:
    app.command(epilog=_epilog)(_verb)
app.add_typer(suite.app, name="suite", epilog=suite.EPILOG, help="Judge many problems and samples: fast_p.")


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"hotlap {__version__}")
        raise typer.Exit


@app.callback()
def hotlap(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """A verdict on compute kernels that can be believed."""


def _end(number: int, frame: object) -> None:
    raise SystemExit(128 + number)


def main() -> None:
    """Entry point of the `hotlap` command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ✓ or µ is no reason to fail
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)  # so that contestants and folders are cleared away, as after Ctrl-C
    sys.exit(dispatch(sys.argv[1:]))


def dispatch(arguments: Sequence[str], platform: str = sys.platform) -> int:
    """Run one command line and return its exit code. Errors become `error: …` on stderr."""
    if not platform.startswith("linux"):
        console.error(f"hotlap runs on Linux, and this is {platform}; use a Linux machine, or WSL 2")
        return console.USAGE
    try:
        app(args=list(arguments), prog_name="hotlap")
    except SystemExit as stop:
        if isinstance(stop.code, int):
            return stop.code
        return console.ACCEPTED if stop.code is None else console.USAGE
    except KeyboardInterrupt:
        return console.INTERRUPTED
    except Exception as error:  # the outermost boundary: every failure leaves as a message and a code
        if os.environ.get("HOTLAP_TRACEBACK") == "1":
            traceback.print_exc()
        console.error(message_of(error))
        return exit_code_of(error)
    return console.ACCEPTED


def exit_code_of(error: Exception) -> int:
    """3 where the device or hotlap is at fault, 2 where the command line, the problem or the file is."""
    if isinstance(error, DeviceError | HarnessError):
        return console.VOID
    if isinstance(error, HotlapError) or _lacks_torch(error):
        return console.USAGE
    return console.VOID


def message_of(error: Exception) -> str:
    """What a person reads: the message of our own errors; anything else is said to be a bug of hotlap."""
    if isinstance(error, HotlapError):
        return str(error)
    if _lacks_torch(error):
        return "this verb needs PyTorch, which is not installed. Install it: pip install torch"
    return (
        f"hotlap failed: {type(error).__name__}: {error}. This is a bug in hotlap, not in your kernel; "
        "run again with HOTLAP_TRACEBACK=1 and report what it prints"
    )


def _lacks_torch(error: Exception) -> bool:
    return isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] == "torch"


if __name__ == "__main__":
    main()
