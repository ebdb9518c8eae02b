"""`hotlap schema`: the JSON Schema of what hotlap writes."""

from enum import StrEnum
from typing import Annotated

import typer

from hotlap.cli import console, options
from hotlap.model import Calibration, Run, Verdict

EPILOG = options.examples("hotlap schema > verdict.schema.json", "hotlap schema run")


class Document(StrEnum):
    """What has a schema."""

    verdict = "verdict"
    run = "run"
    calibration = "calibration"


_CLASSES = {Document.verdict: Verdict, Document.run: Run, Document.calibration: Calibration}


def schema(
    document: Annotated[Document, typer.Argument(help="Which document.")] = Document.verdict,
    json: Annotated[bool, typer.Option("--json", help="As on every verb; a schema is JSON anyway.")] = False,
) -> None:
    """Print the JSON Schema of a verdict, a run or a calibration."""
    from hotlap.schema import json_schema

    console.print_json(json_schema(_CLASSES[document]))
