"""foreign-memory: the source names a memory map or a call that reaches into the memory of a process.

Exploits: corpus/exploits/early_done.py and reads_secrets.py. Honest twin: corpus/honest/mmap_table.py.
"""

import ast
import re
from collections.abc import Iterator

from hotlap.guard.source import Fact, Source, constant_text

PROC_FILE = re.compile(r"/proc/[^/\s]+(?:/task/[^/\s]+)?/(?:mem|s?maps|environ|pagemap|root|cwd|fd)(?![\w])")
CALLS = frozenset(
    ("process_vm_readv", "process_vm_writev", "ptrace", "pidfd_getfd", "dl_iterate_phdr", "mprotect")
)


def find(source: Source) -> Iterator[Fact]:
    """A fact for each /proc path to memory, and each name of a system call that reads or writes it."""
    yield from proc_paths(source)
    for line, word in source.words:
        if word in CALLS:
            yield Fact(line, f"names {word}")


def proc_paths(source: Source) -> Iterator[Fact]:
    for node in source.nodes:
        if isinstance(node, ast.Constant | ast.JoinedStr | ast.BinOp) and node not in source.docstrings:
            path = PROC_FILE.search(constant_text(node) or "")
            if path is not None:
                yield Fact(node.lineno, f"names {path.group()}")
