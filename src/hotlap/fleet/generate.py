"""Samples of a suite, written by a model: asked of an endpoint, stored, laid out to be judged.

Defends against: a key that gets about (it is sent to the endpoint alone, never along a redirect, and taken
out of all that the endpoint says), answers paid for twice (each is stored before the next is asked for, so a
kill costs those in flight), answers without end, and a table of two models. What a model writes is text here:
nothing of it is executed or names a file.
Not covered: an endpoint that miscounts its tokens, or that is another model than it says.
"""

import email.utils
import hashlib
import http.client
import ipaddress
import json
import math
import os
import re
import socket
import ssl
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urlsplit

from hotlap import runs, schema, text
from hotlap.errors import UsageError
from hotlap.fleet import journal
from hotlap.model import Problem
from hotlap.problems.prototype import python_prototype

SAMPLES = "samples"
NAME = "generation.json"
STORED = "stored"  # told of an answer that an earlier run got
KEY, BASE_URL = "OPENAI_API_KEY", "OPENAI_BASE_URL"
PATH = "/chat/completions"
SOURCE_BYTES = 1 << 20  # what a submission may have
BODY_BYTES = 16 << 20  # of one HTTP answer
CODE_CHARACTERS = 30  # a fenced block with less is a command or a remark, not a kernel
SECRET_CHARACTERS = 12  # a shorter key is a placeholder of a local server, and a word that code may hold
_EXAMPLES = "https://api.openai.com/v1 or http://localhost:8000/v1"
_START_ANEW = "give another --out, or delete the old one"


@dataclass(frozen=True)
class Endpoint:
    """Where answers come from. `host` (with port) is how reports and stored answers call it."""

    url: str
    host: str
    key: str | None = field(default=None, repr=False)
    is_local: bool = False


@dataclass(frozen=True)
class Wish:
    """What is asked for: None leaves a setting to the endpoint. Raises UsageError for what none can take."""

    model: str
    samples: int = 1
    temperature: float | None = None
    max_tokens: int | None = None

    def __post_init__(self) -> None:
        if not self.model.strip() or not self.model.isprintable():
            raise UsageError(f"--model {self.model!r}: is no name; give one that the endpoint knows")
        _refuse_endless("--temperature", self.temperature)


@dataclass(frozen=True)
class Patience:
    """How long and how often an endpoint is asked."""

    parallel: int = 4
    attempts: int = 5
    timeouts: int = 2  # a request that timed out is paid for all the same
    timeout_s: float = 600.0
    backoff_s: float = 1.0  # doubled at each attempt
    longest_wait_s: float = 120.0  # whatever Retry-After says


@dataclass(frozen=True)
class Price:
    """Money for a million tokens, in the currency of whoever gives it."""

    tokens_in: float
    tokens_out: float

    def __post_init__(self) -> None:
        _refuse_endless("--price-in", self.tokens_in)
        _refuse_endless("--price-out", self.tokens_out)


@dataclass(frozen=True)
class Usage:
    """Tokens of one answer, as the endpoint counts them."""

    tokens_in: int
    tokens_out: int


@dataclass(frozen=True)
class Answer:
    """What the endpoint answered, as it is stored."""

    answer: str
    usage: Usage | None  # None where the endpoint does not tell
    finish_reason: str | None
    created: str


@dataclass(frozen=True)
class Generation:
    """Where the samples of a run come from and what they cost. Stored answers are part of every sum.

    Usage is of the answers that the endpoint counted, None where it counted none.
    """

    model: str
    endpoint: str
    temperature: float | None
    max_tokens: int | None
    samples: int  # wanted a problem
    answers: int
    cached: int  # of them stored by an earlier run, or for a problem asked in the same words
    without_code: int
    cut_off: int  # stopped by a limit on tokens
    forgotten: int  # judged before, and stored no more: in no sum
    unanswered: Mapping[str, str]  # "suite/name@version sample" -> why
    usage: Usage | None
    cached_usage: Usage | None
    without_usage: int
    cost: float | None  # None without prices
    cached_cost: float | None


def _refuse_endless(option: str, value: float | None) -> None:
    if value is not None and not 0 <= value < math.inf:
        raise UsageError(f"{option} {value}: expected a finite number of 0 or more")


class Task(NamedTuple):
    """One sample to be written."""

    problem: Problem
    k: int
    prompt: str

    @property
    def id(self) -> str:
        return f"{self.problem.id} {self.k}"


class NoAnswer(Exception):
    """The endpoint gave no answer to one request; says why."""


class _Again(Exception):
    """An attempt that failed and may be made again; `most` attempts in all."""

    def __init__(self, reason: str, most: int, wait_s: float | None = None, fatal: bool = False) -> None:
        super().__init__(reason)
        self.reason, self.most, self.wait_s, self.fatal = reason, most, wait_s, fatal


Told = Callable[[int, int, Task, str], None]  # done, of how many, which, and what came


# --- the endpoint ----------------------------------------------------------------------------------


def endpoint_of(given: str | None, environment: Mapping[str, str]) -> Endpoint:
    """The endpoint of --endpoint or OPENAI_BASE_URL, with the key of OPENAI_API_KEY. Raises UsageError.

    Messages never quote the address: people put keys into it.
    """
    name = "--endpoint" if given else BASE_URL
    address = (given or environment.get(BASE_URL) or "").strip()
    if not address:
        raise UsageError(
            f"--model needs an endpoint, and none was given; give --endpoint URL ({_EXAMPLES}), "
            f"or set {BASE_URL}"
        )
    if not re.fullmatch(r"[!-~]+", address):
        raise UsageError(f"{name}: holds blanks or other characters that no address has; such as {_EXAMPLES}")
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname, parts.port  # both are looked at here: a bad port raises
    except ValueError:
        raise UsageError(f"{name}: is not an address; give one such as {_EXAMPLES}") from None
    if parts.scheme not in ("http", "https") or not host:
        raise UsageError(f"{name}: is not an https address; give one such as {_EXAMPLES}")
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise UsageError(
            f"{name}: holds a user, a query or a fragment; give the address alone, and the key in {KEY}"
        )
    is_local = _is_local(host)
    if parts.scheme == "http" and not is_local:
        raise UsageError(
            f"{name}: http sends the key in the clear to {host}; use https (http is for localhost only)"
        )
    return Endpoint(_url(parts), parts.netloc.lower(), _key(environment), is_local)


def _url(parts: SplitResult) -> str:
    path = parts.path.rstrip("/")
    return parts._replace(path=path if path.endswith(PATH) else path + PATH).geturl()


def _is_local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _key(environment: Mapping[str, str]) -> str | None:
    key = environment.get(KEY, "").strip()
    if key and not re.fullmatch(r"[!-~]+", key):
        raise UsageError(f"{KEY}: holds characters that no key has (blanks, line breaks); set it anew")
    return key or None


def without_key(said: str, key: str | None) -> str:
    """Text of the endpoint's, without the key that it was sent, and valid Unicode."""
    if key is not None and len(key) >= SECRET_CHARACTERS:
        said = said.replace(key, "[key]")
    return said.encode("utf-8", "replace").decode()


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the key to whatever host it names."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _opener(endpoint: Endpoint) -> urllib.request.OpenerDirector:
    proxies = [urllib.request.ProxyHandler({})] if endpoint.is_local else []
    return urllib.request.build_opener(_NoRedirect, *proxies)


def ask(endpoint: Endpoint, wish: Wish, prompt: str, patience: Patience, stop: Event | None = None) -> Answer:
    """One answer of the model, after as many attempts as it takes and patience allows.

    Raises NoAnswer where this request has none, UsageError where none will have one.
    """
    stopped = stop or Event()
    attempt = 0
    while True:
        attempt += 1
        try:
            return _attempt(endpoint, wish, prompt, patience)
        except _Again as error:
            if attempt >= error.most or stopped.is_set():
                if error.fatal:
                    raise UsageError(
                        f"the endpoint {endpoint.host} cannot be reached: {error.reason}; is it up, and "
                        "is --endpoint right? Answers so far are stored: the same command goes on"
                    ) from None
                tries = f" ({attempt} attempts)" if attempt > 1 else ""
                raise NoAnswer(f"{error.reason}{tries}") from None
            wait_s = error.wait_s if error.wait_s is not None else patience.backoff_s * 2 ** (attempt - 1)
            stopped.wait(min(wait_s, patience.longest_wait_s))


def _attempt(endpoint: Endpoint, wish: Wish, prompt: str, patience: Patience) -> Answer:
    settings = {"temperature": wish.temperature, "max_tokens": wish.max_tokens}
    body: dict[str, Any] = {"model": wish.model, "messages": [{"role": "user", "content": prompt}]}
    body |= {name: value for name, value in settings.items() if value is not None}
    headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "hotlap"}
    if endpoint.key is not None:
        headers["Authorization"] = f"Bearer {endpoint.key}"
    request = urllib.request.Request(endpoint.url, json.dumps(body).encode(), headers, method="POST")
    deadline = time.monotonic() + patience.timeout_s
    try:
        with _opener(endpoint).open(request, timeout=patience.timeout_s) as response:
            raw = _read(response, deadline)
    except urllib.error.HTTPError as error:
        with error:
            raise _refusal(error, endpoint, wish, patience) from None
    except (OSError, http.client.HTTPException) as error:  # URLError is an OSError
        raise _broken(error, patience) from None
    return _parsed(raw, endpoint.key, patience)


def _read(response: Any, deadline: float) -> bytes:
    """The body, of bounded size and within the time: a socket's time-out starts anew at each byte."""
    parts, size = [], 0
    while part := response.read1(1 << 16):
        parts.append(part)
        size += len(part)
        if size > BODY_BYTES:
            raise NoAnswer(f"more than {BODY_BYTES >> 20} MB in one answer")
        if time.monotonic() > deadline:
            raise TimeoutError
    return b"".join(parts)


def _broken(error: OSError | http.client.HTTPException, patience: Patience) -> _Again:
    cause = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(cause, TimeoutError):
        return _Again(f"no answer within {patience.timeout_s:g} s", patience.timeouts)
    if isinstance(cause, ConnectionRefusedError):
        return _Again("connection refused", patience.attempts, fatal=True)
    if isinstance(cause, socket.gaierror):
        return _Again("its name is not known", patience.attempts, fatal=True)
    if isinstance(cause, ssl.SSLCertVerificationError):
        return _Again(f"its certificate is not valid ({cause.verify_message})", 1, fatal=True)
    return _Again(f"the connection broke ({type(cause).__name__})", patience.attempts)


def _refusal(error: urllib.error.HTTPError, endpoint: Endpoint, wish: Wish, patience: Patience) -> Exception:
    """What a status of 300 or more means. A body is quoted only where it can help."""
    status = error.code
    if status == 429 or status >= 500:
        return _Again(f"HTTP {status}", patience.attempts, _retry_after(error.headers.get("Retry-After")))
    if status in (401, 403):
        given = f"that of {KEY} is refused" if endpoint.key else f"set {KEY}"
        return UsageError(f"the endpoint {endpoint.host} wants a key (HTTP {status}): {given}")
    if status < 400:
        return UsageError(
            f"the endpoint {endpoint.host} redirects (HTTP {status}), and a key is not sent along; "
            "give the address that it redirects to"
        )
    said = _error_message(error, endpoint.key)
    if status == 404:
        return UsageError(
            f"the endpoint {endpoint.host} knows no such address or no model {wish.model} (HTTP 404){said}; "
            f"an endpoint is given without {PATH}, such as {_EXAMPLES}"
        )
    return NoAnswer(f"HTTP {status}{said}")


def _retry_after(said: str | None) -> float | None:
    """Seconds that the endpoint asks to wait: given as such, or as a date."""
    if said is None:
        return None
    if re.fullmatch(r"\d{1,9}(\.\d*)?", said.strip()):
        return float(said)
    try:
        until = email.utils.parsedate_to_datetime(said).timestamp()
    except (ValueError, OverflowError):
        return None
    return max(0.0, until - time.time())


def _error_message(error: urllib.error.HTTPError, key: str | None) -> str:
    """`: MESSAGE` of an error's body in a line, or nothing."""
    try:
        said = json.loads(error.read(1 << 16))["error"]["message"]
    except (OSError, http.client.HTTPException, ValueError, RecursionError, LookupError, TypeError):
        return ""  # no body, not JSON, or of another form: the status stands for itself
    return f": {text.clean(without_key(said, key), one_line=True)[:200]}" if isinstance(said, str) else ""


def _parsed(raw: bytes, key: str | None, patience: Patience) -> Answer:
    try:
        document = json.loads(raw)
        choice = document["choices"][0]
        content, finish = choice["message"].get("content"), choice.get("finish_reason")
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        raise _Again("what came is no chat completion", patience.attempts) from None
    return Answer(
        without_key(content, key) if isinstance(content, str) else "",
        _usage(document.get("usage")),
        without_key(finish, key)[:40] if isinstance(finish, str) else None,
        datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _usage(said: object) -> Usage | None:
    if not isinstance(said, dict):
        return None
    counts = (said.get("prompt_tokens"), said.get("completion_tokens"))
    tokens_in, tokens_out = (n if type(n) is int and 0 <= n < 1 << 40 else None for n in counts)
    return None if tokens_in is None or tokens_out is None else Usage(tokens_in, tokens_out)


# --- what is asked, and what of the answer is code -------------------------------------------------

_MACHINES = {
    "cpu": "a CPU. It may use PyTorch and NumPy; there is no GPU, so no Triton and no CUDA",
    "gpu": "an NVIDIA GPU. It may use PyTorch, Triton, and CUDA C++ through torch.utils.cpp_extension",
}
_FOREIGN = {
    "custom_kernel": "Define `custom_kernel(data)`: it gets what `generate_input` makes and returns what "
    "`ref_kernel` returns.",
    "ModelNew": "Define `class ModelNew(torch.nn.Module)` with the constructor and the forward of `Model`. "
    "Its parameters have the same names, order and shapes as those of `Model`.",
    "run": "Define `run(*inputs)` with the inputs of the reference's `run` in its order; it returns the "
    "same.",
}


def prompt_of(problem: Problem, device: str) -> str:
    """What a model is asked: one Python file that solves this problem on `device` (cpu, cuda, cuda:N)."""
    profile = "cpu" if device == "cpu" else "gpu"
    parts = [
        f"Write one Python file that solves the problem below, correctly and as fast as you can, on "
        f"{_MACHINES[profile]}.",
        f"# Problem\n\n{problem.statement.strip()}",
        f"# What to define\n\n{_contract(problem)}",
        _workloads(problem, profile),
        _bound(problem),
        "# Answer\n\nAnswer with the whole file in one fenced code block that opens with ```python. Write no "
        f"other code block. The file defines `{problem.contract}` at its top level, with all its imports; it "
        "has no network, and what it prints is not read. Every call gets new inputs and its whole answer is "
        "checked.",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _contract(problem: Problem) -> str:
    if problem.contract in _FOREIGN:
        return _FOREIGN[problem.contract]
    return (
        f"```python\nimport torch\n\n\n{python_prototype(problem)}\n    ...\n```\n\n"
        "It returns its outputs, new tensors; or it has one more parameter named `out` (a tensor, or a tuple "
        "of them) and writes there. Inputs are contiguous and are not to be written to unless marked mutable."
    )


def _workloads(problem: Problem, profile: str) -> str:
    if problem.contract in _FOREIGN:
        return ""  # they number their cases; the statement describes them
    mine = [w for w in problem.workloads if w.profile == profile]
    lines = [f"- {w.kind.value}: {text.axes(w.axes)}" for w in mine]
    return "\n".join(
        ["# Workloads", "", "`bench` is timed; hidden ones of other sizes are checked too.", "", *lines]
    )


def _bound(problem: Problem) -> str:
    if problem.contract == "custom_kernel":
        return ""  # checked by its own check_implementation
    given = problem.tolerance
    said = (
        "# Tolerance\n\n`|out - ref| <= atol + rtol * |ref|` for every element, with "
        f"rtol = `{given.rtol}` and atol = `{given.atol}` (eps: of the output's type)."
    )
    return f"{said} Products may be computed in {problem.precision}." if problem.precision else said


def code_of(answer: str) -> str | None:
    """The file in an answer: its last fenced block that is long enough, or all of it where it is bare code.

    None where there is no code, or more than a submission may have (1 MiB).
    """
    blocks = [block for block in _fenced(answer) if len(block.strip()) >= CODE_CHARACTERS]
    found = blocks[-1] if blocks else answer if _is_code(answer) else None
    if found is None or len(found.encode()) > SOURCE_BYTES:
        return None
    return found


def _fenced(answer: str) -> list[str]:
    """The fenced blocks of Markdown; one that nothing closes goes to the end."""
    blocks: list[str] = []
    fence, lines = "", list[str]()
    for line in answer.splitlines():
        mark = re.match(r" {0,3}(`{3,}|~{3,})(.*)", line)
        if not fence:
            if mark and "`" not in mark[2]:
                fence, lines = mark[1], []
        elif mark and mark[1].startswith(fence) and not mark[2].strip():
            blocks.append("\n".join(lines) + "\n")
            fence = ""
        else:
            lines.append(line)
    return [*blocks, "\n".join(lines) + "\n"] if fence else blocks


def _is_code(answer: str) -> bool:
    """Whether a text without fences begins like a Python file and defines something. It is not parsed: a
    parser can be brought down by what it reads."""
    lines = (line for line in answer.splitlines() if line.strip() and not line.startswith("#"))
    begins = re.match(r"(import|from|def|class) \w|@|\"\"\"", next(lines, ""))
    return begins is not None and re.search(r"^(def|class) \w", answer, re.MULTILINE) is not None


# --- stored answers --------------------------------------------------------------------------------


def stored_at(endpoint: Endpoint, wish: Wish, prompt: str, index: int) -> Path:
    """Where the answer to this very question is stored: $HOTLAP_HOME/generations/SHA256.json."""
    question = [endpoint.host, wish.model, prompt, wish.temperature, wish.max_tokens, index]
    digest = hashlib.sha256(json.dumps(question).encode()).hexdigest()
    return runs.home() / "generations" / f"{digest}.json"


def stored(path: Path) -> Answer | None:
    """The answer in this file; None where it is not there or not whole, so that it is asked for again."""
    try:
        return schema.from_json(Answer, path.read_bytes())
    except (OSError, UsageError):
        return None


def _store(path: Path, answer: Answer) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _replace(path, schema.to_json(answer).encode(), 0o600)


def _replace(path: Path, content: bytes, mode: int) -> None:
    """Write a file whole or not at all."""
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "wb") as file:
        file.write(content)
    partial.replace(path)


# --- a suite ---------------------------------------------------------------------------------------


def generate(
    problems: Sequence[Problem],
    wish: Wish,
    endpoint: Endpoint,
    out: Path,
    device: str,
    *,
    patience: Patience | None = None,
    price: Price | None = None,
    told: Told = lambda *_: None,
) -> Generation:
    """Write OUT/samples/PROBLEM/K.py for each problem and K, by stored answers and the model's.

    An answer without code is an empty file, and no answer is a file that raises the reason: both are judged,
    and fail. A sample that was judged is not asked for again, and its file stays. Raises UsageError.
    """
    before = read(out)
    judged = _refuse_others(out, before, wish, endpoint)
    tasks = [Task(p, k, prompt_of(p, device)) for p in problems for k in range(wish.samples)]
    paths = {task.id: stored_at(endpoint, wish, task.prompt, task.k) for task in tasks}
    if odd := sorted(judged - paths.keys()):
        raise UsageError(
            f"{out / journal.NAME}: holds {odd[0]}, which is of another problem or version; {_START_ANEW}"
        )
    unanswered = {
        sample: why for sample, why in (before.unanswered if before else {}).items() if sample in judged
    }
    answers = {
        sample: old for sample, path in paths.items() if sample not in unanswered and (old := stored(path))
    }
    cached = frozenset(answers)
    forgotten = judged - cached - unanswered.keys()
    for number, task in enumerate((t for t in tasks if t.id in cached), 1):
        told(number, len(tasks), task, STORED)
    settled = cached | unanswered.keys() | forgotten
    left = [task for task in tasks if task.id not in settled]
    if before is not None and forgotten and not left:
        return before  # it knows what they cost
    try:
        with closing(_asked(left, endpoint, wish, paths, patience or Patience())) as came:
            for task, found in came:
                if isinstance(found, Answer):
                    answers[task.id], said = found, _came(found)
                else:
                    unanswered[task.id] = said = found
                told(len(answers) + len(unanswered), len(tasks), task, said)
        if not answers:
            _refuse_all_refused(left, unanswered, endpoint)
        _write_samples(problems, tasks, answers, unanswered, judged, out)
        made = _summed(wish, endpoint, tasks, answers, cached, unanswered, len(forgotten), price)
        _replace(out / NAME, f"{schema.to_json(made, indent=2)}\n".encode(), 0o644)
    except OSError as error:
        raise UsageError(
            f"{error.filename or out}: cannot be written ({error.strerror}); what was stored before is kept"
        ) from None
    return made


def _came(answer: Answer) -> str:
    used = answer.usage
    tokens = _tokens_words(used) if used else "answered"
    return tokens if code_of(answer.answer) is not None else f"{tokens}, no code in it"


def _asked(
    tasks: Sequence[Task], endpoint: Endpoint, wish: Wish, paths: Mapping[str, Path], patience: Patience
) -> Generator[tuple[Task, Answer | str], None, None]:
    """Each task with its answer, or why there is none, as they come. Each answer is stored before that.

    The threads are daemons: an interrupt must not wait for a model to finish its sentence.
    """
    todo: SimpleQueue[Task] = SimpleQueue()
    done: SimpleQueue[tuple[Task, Answer | Exception]] = SimpleQueue()
    stop = Event()
    for task in tasks:
        todo.put(task)

    def work() -> None:
        while not stop.is_set():
            try:
                task = todo.get_nowait()
            except Empty:
                return
            try:
                answer = ask(endpoint, wish, task.prompt, patience, stop)
                _store(paths[task.id], answer)
                done.put((task, answer))
            except Exception as error:  # raised again where the tasks are counted, which else would wait
                done.put((task, error))

    for _ in range(min(patience.parallel, len(tasks))):
        Thread(target=work, name="ask", daemon=True).start()
    try:
        for _ in tasks:
            task, found = done.get()
            if isinstance(found, NoAnswer):
                yield task, str(found)
            elif isinstance(found, Exception):
                raise found
            else:
                yield task, found
    finally:
        stop.set()


def _refuse_all_refused(tasks: Sequence[Task], unanswered: Mapping[str, str], endpoint: Endpoint) -> None:
    """A request that is refused as such, each time, is the command line's fault and not the model's."""
    reasons = [unanswered.get(task.id, "") for task in tasks]
    if reasons and all(re.match("HTTP 4(?!29)", reason) for reason in reasons):
        raise UsageError(
            f"the endpoint {endpoint.host} refused every request: {reasons[0]}; nothing was judged. Does the "
            "model take --temperature and --max-tokens as they are given?"
        )


def _write_samples(
    problems: Sequence[Problem],
    tasks: Sequence[Task],
    answers: Mapping[str, Answer],
    unanswered: Mapping[str, str],
    judged: frozenset[str],
    out: Path,
) -> None:
    often = Counter(problem.name for problem in problems)
    for task in tasks:
        name = task.problem.name
        folder = out / SAMPLES / (name if often[name] == 1 else f"{task.problem.suite}.{name}")
        path = folder / f"{task.k}.py"
        if task.id in judged and path.is_file():
            continue  # a row speaks of this very file
        folder.mkdir(parents=True, exist_ok=True)
        if task.id in unanswered:
            source = f"raise RuntimeError({f'no answer from the endpoint: {unanswered[task.id]}'!a})\n"
        else:
            if task.id not in answers:
                raise UsageError(
                    f"{path}: was judged and is gone, and its answer is stored no more; {_START_ANEW}"
                )
            source = code_of(answers[task.id].answer) or ""
        _replace(path, source.encode(), 0o644)


def _summed(
    wish: Wish,
    endpoint: Endpoint,
    tasks: Sequence[Task],
    answers: Mapping[str, Answer],
    cached: frozenset[str],
    unanswered: Mapping[str, str],
    forgotten: int,
    price: Price | None,
) -> Generation:
    mine = [answers[task.id] for task in tasks if task.id in answers]
    total = _tokens(mine)
    old = _tokens([answers[task.id] for task in tasks if task.id in cached])
    return Generation(
        model=wish.model,
        endpoint=endpoint.host,
        temperature=wish.temperature,
        max_tokens=wish.max_tokens,
        samples=wish.samples,
        answers=len(mine),
        cached=len(cached),
        without_code=sum(code_of(each.answer) is None for each in mine),
        cut_off=sum(each.finish_reason == "length" for each in mine),
        forgotten=forgotten,
        unanswered={task.id: unanswered[task.id] for task in tasks if task.id in unanswered},
        usage=total,
        cached_usage=old,
        without_usage=sum(each.usage is None for each in mine),
        cost=_cost(total, price),
        cached_cost=_cost(old, price),
    )


def _tokens(answers: Sequence[Answer]) -> Usage | None:
    known = [each.usage for each in answers if each.usage is not None]
    if not known:
        return None
    return Usage(sum(each.tokens_in for each in known), sum(each.tokens_out for each in known))


def _cost(used: Usage | None, price: Price | None) -> float | None:
    if used is None or price is None:
        return None
    return (used.tokens_in * price.tokens_in + used.tokens_out * price.tokens_out) / 1e6


# --- what a folder holds already -------------------------------------------------------------------


def read(out: Path) -> Generation | None:
    """What OUT/generation.json says; None where the samples are nobody's we know of. Raises UsageError."""
    path = out / NAME
    if not path.is_file():
        return None
    try:
        return schema.from_json(Generation, path.read_bytes())
    except UsageError as error:
        raise UsageError(f"{path}: {error}; {_START_ANEW}") from None


def refuse_generated(out: Path, solutions: Path) -> None:
    """Raises UsageError where `out` is about samples of a model, and `solutions` are not these."""
    before = read(out)
    if before is not None and solutions.resolve() != (out / SAMPLES).resolve():
        raise UsageError(f"{out / NAME}: {out} holds samples of {before.model}; {_START_ANEW}")


def _refuse_others(out: Path, before: Generation | None, wish: Wish, endpoint: Endpoint) -> frozenset[str]:
    """Ids of the samples in `out` that were judged. Raises UsageError where they are not of this model."""
    path = out / journal.NAME
    if not path.is_file() or b"\n" not in path.read_bytes():
        return frozenset()  # killed before its first line was whole
    if before is None:
        raise UsageError(f"{path}: is about samples that no model wrote here; {_START_ANEW}")
    now = {
        "model": wish.model,
        "endpoint": endpoint.host,
        "temperature": wish.temperature,
        "max_tokens": wish.max_tokens,
        "samples": wish.samples,
    }
    for name, wanted in now.items():
        if (found := getattr(before, name)) != wanted:
            raise UsageError(
                f"{path}: was begun with {name} {found}, and this run has {wanted}; {_START_ANEW}"
            )
    return frozenset(f"{row.problem} {row.sample}" for row in journal.read(out)[1])


# --- in words --------------------------------------------------------------------------------------


def notes(made: Generation) -> list[str]:
    """What a reader of the table must know of its samples."""
    found = [f"samples written by {made.model} at {made.endpoint}: {_sums(made)}"]
    if made.unanswered:
        why = "; ".join(list(dict.fromkeys(made.unanswered.values()))[:3])
        found.append(f"{_count(len(made.unanswered), 'sample')} without an answer, judged as failed: {why}")
    if made.forgotten:
        found.append(
            f"{_count(made.forgotten, 'answer')} judged before and stored no more: not in these sums"
        )
    if made.without_code:
        found.append(f"{_count(made.without_code, 'answer')} without code, judged as an empty file")
    if made.cut_off:
        found.append(f"{_count(made.cut_off, 'answer')} cut off by a limit on tokens (--max-tokens)")
    return found


def _sums(made: Generation) -> str:
    """`4 answers, 2 of them stored before · 1,234 tokens in, 567 out (600, 300 before) · cost 0.012`."""
    before = f", {made.cached} of them stored before" if made.cached else ""
    parts = [f"{_count(made.answers, 'answer')}{before}"]
    if made.usage is None:
        parts.append("tokens not told")
    else:
        told = _tokens_words(made.usage)
        if (old := made.cached_usage) is not None:
            told += f" ({old.tokens_in:,} and {old.tokens_out:,} of them before)"
        parts.append(told if not made.without_usage else f"{told}, {made.without_usage} not told")
    if made.cost is not None:
        part = f" ({_money(made.cached_cost)} of it before)" if made.cached_cost is not None else ""
        parts.append(f"cost {_money(made.cost)}{part}")
    return " · ".join(parts)


def _tokens_words(used: Usage) -> str:
    return f"{used.tokens_in:,} tokens in, {used.tokens_out:,} out"


def _money(value: float) -> str:
    decimals = 2 if value == 0 or value >= 100 else min(9, 2 - math.floor(math.log10(value)))
    return f"{value:.{max(2, decimals)}f}"


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'s' * (n != 1)}"
