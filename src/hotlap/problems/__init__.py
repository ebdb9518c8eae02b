"""Folder or file -> Problem; one format a module. `find` is the way in; torch is imported late."""

from hotlap.problems.find import bundled, find

__all__ = ["bundled", "find"]
