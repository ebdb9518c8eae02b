"""`hotlap schema`: the JSON Schema of what hotlap writes."""

from enum import StrEnum
from typing import Annotated

import typer

from hotlap.cli import console, options
from hotlap.model import Calibration, Duel, Run, Verdict

EPILOG = options.examples("hotlap schema > verdict.schema.json", "hotlap schema run")


class Document(StrEnum):
    """What has a schema."""

    verdict = "verdict"
    run = "run"
    calibration = "calibration"
    duel = "duel"
    profile = "profile"
    audit = "audit"
    original = "original"


def _class_of(document: Document) -> type:
    if document is Document.profile:
        from hotlap.profiling.report import Profile

        return Profile
    if document is Document.audit:
        from hotlap.audit.report import Audit

        return Audit
    if document is Document.original:
        from hotlap.original.report import Original

        return Original
    return {
        Document.verdict: Verdict,
        Document.run: Run,
        Document.calibration: Calibration,
        Document.duel: Duel,
    }[document]


def schema(
    document: Annotated[Document, typer.Argument(help="Which document.")] = Document.verdict,
    json: Annotated[bool, typer.Option("--json", help="As on every verb; a schema is JSON anyway.")] = False,
) -> None:
    """Print the JSON Schema of a verdict, run, calibration, duel, profile, audit or original run."""
    from hotlap.schema import json_schema

    console.print_json(json_schema(_class_of(document)))
