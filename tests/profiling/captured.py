"""What tools printed, as text."""

from pathlib import Path

FOLDER = Path(__file__).parent / "captured"


def text(name: str) -> str:
    return (FOLDER / name).read_text()
