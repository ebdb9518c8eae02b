"""Samples written by a model: a real endpoint on this machine, with the answers that a test gives it."""

import contextlib
import json
import os
import shutil
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import hotlap
from hotlap import runs
from hotlap.cli.main import dispatch
from hotlap.errors import UsageError
from hotlap.fleet import generate, journal
from hotlap.fleet.generate import Patience, Price, Wish
from hotlap.fleet.suite import problems_of, samples_of
from hotlap.model import Problem, Status
from hotlap.problems.find import bundled, find

BASICS = Path(hotlap.__file__).parent / "suites" / "basics"
KEY = "sk-test-0123456789abcdef"
CODE = "import torch\n\n\ndef kernel(a, b):\n    return a + b\n"
WORDS = f"Here it is:\n\n```python\n{CODE}```\n"
QUICK = Patience(attempts=3, timeout_s=5, backoff_s=0.01)

Reply = tuple[int, dict[str, str], bytes]


def completion(content: str | None, usage: Any = None, finish: str = "stop") -> Reply:
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": finish}
    return 200, {}, json.dumps({"choices": [choice], "usage": usage}).encode()


def counted(content: str | None = WORDS, finish: str = "stop") -> Reply:
    return completion(content, {"prompt_tokens": 1000, "completion_tokens": 200}, finish)


def refusal(status: int, message: str = "no", **headers: str) -> Reply:
    told = {name.replace("_", "-"): value for name, value in headers.items()}
    return status, told, json.dumps({"error": {"message": message}}).encode()


class Model:
    """A chat-completions endpoint that answers request number n with `reply(n)`."""

    def __init__(self, reply: Callable[[int], Reply]) -> None:
        self.reply = reply
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        lock = threading.Lock()
        model = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with lock:
                    model.asked.append(body)
                    model.headers.append(dict(self.headers))
                    model.paths.append(self.path)
                    number = len(model.asked) - 1
                status, headers, said = model.reply(number)
                with contextlib.suppress(ConnectionError):  # who asked is gone
                    self.send_response(status)
                    for name, value in headers.items():
                        self.send_header(name, value)
                    self.send_header("Content-Length", str(len(said)))
                    self.end_headers()
                    self.wfile.write(said)

            def log_message(self, *_: object) -> None:
                """A test's output is its own."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stored answers of one test alone, and its key."""
    monkeypatch.setenv("HOTLAP_HOME", str(tmp_path / "home"))
    monkeypatch.setenv(generate.KEY, KEY)
    monkeypatch.delenv(generate.BASE_URL, raising=False)
    return tmp_path / "home"


@pytest.fixture
def serve() -> Iterator[Callable[..., Model]]:
    started: list[Model] = []

    def start(reply: Callable[[int], Reply]) -> Model:
        started.append(Model(reply))
        return started[-1]

    yield start
    for model in started:
        model.close()


Serve = Callable[[Callable[[int], Reply]], Model]


def one_problem(folder: Path) -> tuple[Path, list[Problem]]:
    """A suite of vectoradd alone."""
    suite = folder / "suite"
    shutil.copytree(BASICS / "vectoradd", suite / "vectoradd", dirs_exist_ok=True)
    return suite, problems_of(str(suite))


def write(
    tmp_path: Path, model: Model, samples: int = 1, patience: Patience = QUICK, **settings: Any
) -> generate.Generation:
    _, problems = one_problem(tmp_path)
    price = settings.pop("price", None)
    wish = Wish("tiny", samples, **settings)
    endpoint = generate.endpoint_of(model.url, os.environ)
    out = tmp_path / "out"
    return generate.generate(problems, wish, endpoint, out, "cpu", patience=patience, price=price)


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


# --- from a question to files ----------------------------------------------------------------------


def test_a_model_writes_the_samples_that_the_listing_reads(tmp_path: Path, serve: Serve) -> None:
    model = serve(lambda n: counted())
    made = write(tmp_path, model, 2, temperature=0.5, max_tokens=99, price=Price(2.0, 10.0))
    found = samples_of(one_problem(tmp_path)[1], tmp_path / "out" / "samples", 2)
    assert [(s.problem.name, s.name) for s in found.samples] == [("vectoradd", "0"), ("vectoradd", "1")]
    assert [s.path.read_text() for s in found.samples] == [CODE, CODE]
    assert model.paths == ["/v1/chat/completions"] * 2
    assert {body["model"] for body in model.asked} == {"tiny"}
    assert {(body["temperature"], body["max_tokens"]) for body in model.asked} == {(0.5, 99)}
    assert all(headers["Authorization"] == f"Bearer {KEY}" for headers in model.headers)
    assert made.usage == generate.Usage(2000, 400)
    assert made.cost == pytest.approx(0.008)
    assert generate.read(tmp_path / "out") == made


def test_a_second_run_asks_nothing_and_tells_stored_answers_apart(tmp_path: Path, serve: Serve) -> None:
    model = serve(lambda n: counted())
    first = write(tmp_path, model, 2)
    again = write(tmp_path, model, 2)
    assert len(model.asked) == 2
    assert (first.cached, again.cached) == (0, 2)
    assert again.usage == again.cached_usage == first.usage
    more = write(tmp_path, model, 3, price=Price(1.0, 1.0))
    assert len(model.asked) == 3
    assert (more.answers, more.cached) == (3, 2)
    assert "3 answers, 2 of them stored before" in generate.notes(more)[0]
    assert "cost 0.00360 (0.00240 of it before)" in generate.notes(more)[0]


@pytest.mark.parametrize("settings", [{"temperature": 1.0}, {"max_tokens": 7}])
def test_another_question_is_asked_anew(tmp_path: Path, serve: Serve, settings: dict[str, Any]) -> None:
    model = serve(lambda n: counted())
    write(tmp_path, model)
    assert write(tmp_path, model, **settings).cached == 0


def test_stored_answers_are_their_owners_alone(tmp_path: Path, home: Path, serve: Serve) -> None:
    write(tmp_path, serve(lambda n: counted()), 2)
    kept = files(home)
    assert len(kept) == 2
    assert {stat.S_IMODE(path.stat().st_mode) for path in kept} == {0o600}
    assert stat.S_IMODE((home / "generations").stat().st_mode) == 0o700
    document = json.loads(kept[0].read_text())
    assert document["answer"] == WORDS
    assert document["usage"] == {"tokens_in": 1000, "tokens_out": 200}
    assert document["created"]


def test_a_torn_stored_answer_is_asked_for_again(tmp_path: Path, home: Path, serve: Serve) -> None:
    model = serve(lambda n: counted())
    write(tmp_path, model)
    (kept,) = files(home)
    kept.write_bytes(kept.read_bytes()[:40])
    assert write(tmp_path, model).cached == 0
    assert json.loads(kept.read_text())["answer"] == WORDS


def test_a_kill_loses_only_the_answers_in_flight(tmp_path: Path, home: Path, serve: Serve) -> None:
    over = threading.Event()

    def some(n: int) -> Reply:
        if n >= 3:
            over.wait(60)
        return counted()

    model = serve(some)
    suite, _ = one_problem(tmp_path)
    command = ["suite", "run", str(suite), "--out", str(tmp_path / "out"), "--samples", "8"]
    command += ["--model", "tiny", "--endpoint", model.url]
    code = f"from hotlap.cli.main import dispatch\ndispatch({command!r})"
    with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL) as killed:
        while len(list(home.rglob("*.json"))) < 3 or len(model.asked) < 7:
            assert killed.poll() is None
            time.sleep(0.05)
        killed.kill()
    over.set()
    assert write(tmp_path, model, 8).cached == 3
    assert len(model.asked) == 7 + 5


# --- what goes wrong -------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_endpoint_is_asked_again(tmp_path: Path, serve: Serve, status: int) -> None:
    model = serve(lambda n: refusal(status) if n == 0 else counted())
    made = write(tmp_path, model)
    assert len(model.asked) == 2
    assert (made.answers, made.unanswered) == (1, {})


def test_retry_after_is_honoured(tmp_path: Path, serve: Serve) -> None:
    model = serve(lambda n: refusal(429, Retry_After="1") if n == 0 else counted())
    start = time.monotonic()
    write(tmp_path, model)
    assert time.monotonic() - start >= 1.0


@pytest.mark.parametrize(
    ("said", "least", "most"),
    [("7", 7.0, 7.0), ("0.5", 0.5, 0.5), (formatdate(time.time() + 3600, usegmt=True), 3000.0, 3600.0)],
)
def test_retry_after_is_seconds_or_a_date(said: str, least: float, most: float) -> None:
    found = generate._retry_after(said)
    assert found is not None
    assert least <= found <= most


@pytest.mark.parametrize("said", [None, "soon", "-1", "nan", "Mon, 99 Foo 2026"])
def test_a_retry_after_that_is_neither_is_ignored(said: str | None) -> None:
    assert generate._retry_after(said) is None


def test_a_wait_has_an_end_whatever_the_endpoint_asks_for(tmp_path: Path, serve: Serve) -> None:
    model = serve(lambda n: refusal(429, Retry_After="86400") if n == 0 else counted())
    patience = Patience(attempts=2, backoff_s=0.01, longest_wait_s=0.05)
    assert write(tmp_path, model, patience=patience).answers == 1


def test_no_answer_is_a_sample_that_fails_and_counts(tmp_path: Path, serve: Serve) -> None:
    model = serve(lambda n: refusal(500))
    made = write(tmp_path, model, 2)
    assert len(model.asked) == 2 * QUICK.attempts
    assert list(made.unanswered.values()) == ["HTTP 500 (3 attempts)"] * 2
    found = samples_of(one_problem(tmp_path)[1], tmp_path / "out" / "samples", 2).samples
    assert len(found) == 2
    with pytest.raises(RuntimeError, match="no answer from the endpoint: HTTP 500"):
        exec(found[0].path.read_text())
    assert "2 samples without an answer, judged as failed: HTTP 500 (3 attempts)" in generate.notes(made)


def test_what_had_no_answer_is_asked_for_again(tmp_path: Path, serve: Serve) -> None:
    model = serve(lambda n: refusal(500) if n < QUICK.attempts else counted())
    assert write(tmp_path, model).unanswered
    assert write(tmp_path, model).unanswered == {}
    assert (tmp_path / "out" / "samples" / "vectoradd" / "0.py").read_text() == CODE


@pytest.mark.parametrize(
    "content", [None, "", "I cannot do that.", "```sh\npip install\n```", "```python\n" + "x = 1\n" * 200_000]
)
def test_an_answer_without_code_is_an_empty_file(tmp_path: Path, serve: Serve, content: str | None) -> None:
    made = write(tmp_path, serve(lambda n: counted(content)))
    assert (made.answers, made.without_code) == (1, 1)
    assert (tmp_path / "out" / "samples" / "vectoradd" / "0.py").read_text() == ""
    assert "1 answer without code, judged as an empty file" in generate.notes(made)


def test_an_answer_that_was_cut_off_is_told(tmp_path: Path, serve: Serve) -> None:
    made = write(tmp_path, serve(lambda n: counted(finish="length")))
    assert made.cut_off == 1
    assert "cut off by a limit on tokens" in generate.notes(made)[-1]


@pytest.mark.parametrize(
    "usage", [None, {}, {"prompt_tokens": 1}, {"prompt_tokens": -1, "completion_tokens": True}, "many"]
)
def test_tokens_that_are_not_told_are_absent(tmp_path: Path, serve: Serve, usage: Any) -> None:
    made = write(tmp_path, serve(lambda n: completion(WORDS, usage)), price=Price(1, 1))
    assert (made.usage, made.cost, made.without_usage) == (None, None, 1)
    assert "tokens not told" in generate.notes(made)[0]


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b'{"choices": []}', b'{"choices": [{"message": 1}]}', b"\xff", b"[" * 100_000]
)
def test_an_answer_that_is_no_completion_has_a_reason(tmp_path: Path, serve: Serve, body: bytes) -> None:
    made = write(tmp_path, serve(lambda n: (200, {}, body)))
    assert list(made.unanswered.values()) == ["what came is no chat completion (3 attempts)"]


def test_an_endless_answer_is_no_answer(tmp_path: Path, serve: Serve) -> None:
    huge = counted("x" * (generate.BODY_BYTES + 1))
    assert list(write(tmp_path, serve(lambda n: huge)).unanswered.values()) == [
        "more than 16 MB in one answer"
    ]


def test_a_silent_endpoint_is_left_after_two_tries(tmp_path: Path, serve: Serve) -> None:
    over = threading.Event()

    def silent(n: int) -> Reply:
        over.wait(20)
        return counted()

    model = serve(silent)
    made = write(tmp_path, model, patience=Patience(timeout_s=0.2, backoff_s=0.01))
    over.set()
    assert list(made.unanswered.values()) == ["no answer within 0.2 s (2 attempts)"]


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (refusal(401, f"your key {KEY} is bad"), "that of OPENAI_API_KEY is refused"),
        (refusal(403), "wants a key"),
        (refusal(404, "no such model"), "no model tiny .HTTP 404.: no such model"),
        (refusal(302, Location="https://example.org/"), "a key is not sent along"),
        (
            refusal(400, f"temperature of {KEY} is bad"),
            r"refused every request: HTTP 400: temperature of \[key\]",
        ),
    ],
)
def test_what_no_request_gets_past_stops_the_run(
    tmp_path: Path, serve: Serve, reply: Reply, said: str
) -> None:
    model = serve(lambda n: reply)
    with pytest.raises(UsageError, match=said) as raised:
        write(tmp_path, model)
    assert KEY not in str(raised.value)
    assert len(model.asked) == 1
    assert not (tmp_path / "out" / "samples").exists()


def test_one_request_that_is_refused_is_a_sample_that_fails(tmp_path: Path, serve: Serve) -> None:
    model = serve(lambda n: refusal(400, "too long\x1b[2J") if n else counted())
    patience = Patience(parallel=1)
    made = write(tmp_path, model, 2, patience)
    assert list(made.unanswered.values()) == ["HTTP 400: too long\\x1b[2J"]


def test_an_endpoint_that_is_not_there_stops_the_run(tmp_path: Path, serve: Serve) -> None:
    model = serve(lambda n: counted())
    model.server.server_close()
    with pytest.raises(UsageError, match="cannot be reached: connection refused"):
        write(tmp_path, model)


# --- the key ---------------------------------------------------------------------------------------


def test_the_key_is_in_no_file_and_no_output(
    tmp_path: Path, serve: Serve, capsys: pytest.CaptureFixture[str]
) -> None:
    told = f"```python\nKEY = {KEY!r}\n\n\ndef kernel(a, b):\n    return a + b\n```"
    made = write(
        tmp_path, serve(lambda n: counted(told) if n else refusal(400, KEY)), 2, Patience(parallel=1)
    )
    assert list(made.unanswered.values()) == ["HTTP 400: [key]"]
    assert KEY not in "".join(capsys.readouterr())
    assert KEY not in repr(generate.endpoint_of("http://localhost:1", os.environ))
    assert not [path for path in files(tmp_path) if KEY.encode() in path.read_bytes()]


def test_no_key_is_sent_where_there_is_none(
    tmp_path: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(generate.KEY)
    model = serve(lambda n: counted())
    write(tmp_path, model)
    assert "Authorization" not in model.headers[0]


def test_a_placeholder_for_a_key_does_not_change_code(
    tmp_path: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(generate.KEY, "kernel")
    write(tmp_path, serve(lambda n: counted()))
    assert (tmp_path / "out" / "samples" / "vectoradd" / "0.py").read_text() == CODE


def test_a_key_with_a_line_break_is_refused_unseen() -> None:
    with pytest.raises(UsageError) as raised:
        generate.endpoint_of("https://example.org", {generate.KEY: f"{KEY}\nX: y"})
    assert KEY not in str(raised.value)


@pytest.mark.parametrize(
    ("given", "url", "host"),
    [
        ("https://example.org/v1", "https://example.org/v1/chat/completions", "example.org"),
        ("https://example.org/v1/", "https://example.org/v1/chat/completions", "example.org"),
        ("https://example.org:8443", "https://example.org:8443/chat/completions", "example.org:8443"),
        ("http://localhost:1/v1/chat/completions", "http://localhost:1/v1/chat/completions", "localhost:1"),
        ("http://[::1]:1/v1", "http://[::1]:1/v1/chat/completions", "[::1]:1"),
    ],
)
def test_an_endpoint_is_a_base_address(given: str, url: str, host: str) -> None:
    found = generate.endpoint_of(given, {})
    assert (found.url, found.host) == (url, host)
    assert generate.endpoint_of(None, {generate.BASE_URL: given}) == found


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (None, "give --endpoint URL"),
        ("", "give --endpoint URL"),
        ("example.org/v1", "is not an https address"),
        ("ftp://example.org", "is not an https address"),
        ("https://", "is not an https address"),
        ("https://example.org:port", "is not an address"),
        ("https://example.org/a b", "holds blanks"),
        ("http://example.org/v1", "in the clear"),
        ("http://localhost.example.org/v1", "in the clear"),
        (f"https://me:{KEY}@example.org", "holds a user"),
        (f"https://example.org/v1?key={KEY}", "a query"),
    ],
)
def test_an_address_that_would_leak_or_is_none_is_refused(given: str | None, said: str) -> None:
    with pytest.raises(UsageError, match=said) as raised:
        generate.endpoint_of(given, {})
    assert KEY not in str(raised.value)


# --- prompt and code -------------------------------------------------------------------------------


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_a_prompt_says_all_that_a_kernel_must_keep(device: str) -> None:
    problem = find("basics/softmax")
    asked = generate.prompt_of(problem, device)
    assert problem.statement.strip() in asked
    assert "def kernel(\n    x: torch.Tensor,  # [rows, cols] float32" in asked
    assert problem.tolerance.rtol in asked
    assert ("Triton, and CUDA" in asked) == (device == "cuda")
    assert ("- bench: rows=512 cols=256" in asked) == (device == "cpu")
    assert ("- bench: rows=16384 cols=4096" in asked) == (device == "cuda")
    assert "one fenced code block" in asked


def test_every_bundled_problem_has_a_prompt_of_its_own() -> None:
    problems = bundled()
    asked = {generate.prompt_of(problem, device) for problem in problems for device in ("cpu", "cuda:1")}
    assert len(asked) == 2 * len(problems)


def test_a_foreign_problem_asks_for_its_own_contract(tmp_path: Path) -> None:
    path = tmp_path / "1_Twice.py"
    path.write_text(
        "import torch\n\n\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return 2 * x\n"
        "\n\ndef get_inputs():\n    return [torch.rand(8)]\n\n\ndef get_init_inputs():\n    return []\n"
    )
    asked = generate.prompt_of(find(str(path)), "cuda")
    assert "return 2 * x" in asked
    assert "Define `class ModelNew(torch.nn.Module)`" in asked
    assert "# Workloads" not in asked


LONG = "def kernel(a, b):\n    return a.add(b)\n"


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (f"```python\n{LONG}```", LONG),
        (f"```\n{LONG}```\nRun it:\n```sh\nls\n```", LONG),
        (f"```python\n{LONG}```\nBetter:\n```python\n# better\n{LONG}```", f"# better\n{LONG}"),
        (f"~~~~py\n{LONG}```\n~~~~\n", f"{LONG}```\n"),
        (f"```python\n{LONG}", LONG),
        (f"```python\r\n{LONG}```", LONG),
        (LONG, LONG),
        (f"# a comment\nimport torch\n{LONG}", f"# a comment\nimport torch\n{LONG}"),
        (f"It is this:\n{LONG}", None),
        ("from here on I give up", None),
        ("```python\nx\n```", None),
        ("", None),
    ],
)
def test_the_last_long_block_or_bare_code_is_the_file(answer: str, found: str | None) -> None:
    assert generate.code_of(answer) == found


# --- the command -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "give --solutions DIR, or --model NAME"),
        (["--model", "m", "--solutions", "."], "leave one out"),
        (["--model", "m"], "give --endpoint URL"),
        (["--solutions", ".", "--temperature", "1"], "--temperature is about a model"),
        (["--solutions", ".", "--endpoint", "https://x"], "--endpoint is about a model"),
        (["--model", "m", "--endpoint", "https://x", "--price-in", "1"], "go together"),
        (["--model", "m", "--endpoint", "https://x", "--temperature", "inf"], "expected a finite number"),
        (["--model", " ", "--endpoint", "https://x"], "is no name"),
    ],
)
def test_a_bad_command_line_says_what_is_wrong(
    arguments: list[str],
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert dispatch(["suite", "run", "basics", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in " ".join(err.split())


@pytest.mark.timeout(400)
def test_a_suite_is_written_judged_and_reported(
    tmp_path: Path, serve: Serve, capsys: pytest.CaptureFixture[str]
) -> None:
    suite, _ = one_problem(tmp_path)
    out = tmp_path / "out"
    model = serve(lambda n: counted() if n == 0 else counted("no"))
    command = ["suite", "run", str(suite), "--out", str(out), "--json"]
    asked = [*command, "--model", "tiny", "--endpoint", model.url, "--samples", "2"]
    assert dispatch([*asked, "--price-in", "1", "--price-out", "2"]) == 0
    printed, err = capsys.readouterr()
    document = json.loads(printed)
    assert document["generation"]["usage"] == {"tokens_in": 2000, "tokens_out": 400}
    assert document["generation"]["cost"] == pytest.approx(0.0028)
    (group,) = document["groups"]
    assert (group["accepted"], group["failed"], group["missing"]) == (1, 1, 0)
    assert group["correct"]["share"] == 0.5
    assert "2/2  vectoradd" in err
    assert "samples written by tiny at 127.0.0.1" in (out / "report.md").read_text()
    assert json.loads((out / "report.json").read_text()) == document
    _, rows = journal.read(out)
    assert sorted(row.status for row in rows) == [Status.accepted, Status.failed]

    shutil.rmtree(runs.home() / "generations")
    assert dispatch(asked) == 0  # what was judged is not asked for again, and its cost is known
    assert len(model.asked) == 2
    assert json.loads(capsys.readouterr().out)["generation"] == document["generation"]
    assert dispatch([*asked[:-1], "3"]) == 2
    assert "was begun with samples 2, and this run has 3" in capsys.readouterr().err
    assert dispatch([*command, "--solutions", str(BASICS)]) == 2
    assert "holds samples of tiny" in capsys.readouterr().err
    assert not [path for path in files(tmp_path) if KEY.encode() in path.read_bytes()]
