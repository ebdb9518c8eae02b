"""thread-start: work is given to a thread or a process, and the same function does not wait for it.

Exploit: corpus/exploits/thread_left_working.py. Honest twins: corpus/honest/thread_joined.py and
thread_pool_joined.py.
"""

import ast
from collections.abc import Iterator

from hotlap.guard.source import Fact, Source

STARTERS = frozenset(
    (
        "threading.Thread",
        "threading.Timer",
        "_thread.start_new_thread",
        "multiprocessing.Process",
        "torch.multiprocessing.Process",
        "os.fork",
        "os.posix_spawn",
    )
)
POOLS = frozenset(
    (
        "concurrent.futures.ThreadPoolExecutor",
        "concurrent.futures.ProcessPoolExecutor",
        "concurrent.futures.thread.ThreadPoolExecutor",
        "multiprocessing.pool.ThreadPool",
        "multiprocessing.Pool",
    )
)
WAITS = frozenset(("result", "wait", "as_completed", "waitpid", "shutdown", "gather"))


def find(source: Source) -> Iterator[Fact]:
    """A fact for each start of a thread or process, or `submit` to a pool, in a scope without a wait."""
    has_pool = any(source.dotted(call.func) in POOLS for call in source.calls)
    for nodes in source.scopes:
        calls = [node for node in nodes if isinstance(node, ast.Call)]
        if any(is_wait(call) for call in calls) or any(is_pool_block(source, node) for node in nodes):
            continue
        for call in calls:
            name = source.dotted(call.func)
            if name in STARTERS:
                yield Fact(call.lineno, f"calls {name}; the same function waits for nothing")
            elif has_pool and last_name(call.func) in ("submit", "apply_async", "map_async"):
                yield Fact(call.lineno, "gives work to a pool; the same function waits for nothing")


def is_wait(call: ast.Call) -> bool:
    """Whether a call waits for work. `thread.join()` takes nothing or a number, unlike `",".join(words)`."""
    match call:
        case ast.Call(func=ast.Attribute(attr="join"), args=[] | [ast.Constant(value=int() | float())]):
            return True
        case _:
            return last_name(call.func) in WAITS


def is_pool_block(source: Source, node: ast.AST) -> bool:
    """Whether a `with` statement holds a pool: it waits for the pool's work where it ends."""
    if not isinstance(node, ast.With):
        return False
    opened = [item.context_expr for item in node.items]
    return any(isinstance(call, ast.Call) and source.dotted(call.func) in POOLS for call in opened)


def last_name(node: ast.expr) -> str | None:
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case _:
            return None
