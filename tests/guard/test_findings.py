"""Each rule fires on its exploit and on the spellings below, and on none of the honest kernels."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotlap.guard.guard import RULES, findings
from hotlap.model import Submission

CORPUS = Path(__file__).parents[2] / "corpus"
EXPLOITS = sorted((CORPUS / "exploits").glob("*.py"))
HONEST = sorted((CORPUS / "honest").glob("*.py"))


def submission(source: str, file: str = "kernel.py", lang: str = "python") -> Submission:
    return Submission(file=file, source=source, lang=lang, sha256="0" * 64)


def rules_seen(source: str) -> set[str]:
    return {finding.rule for finding in findings(submission(source))}


def header(path: Path, key: str) -> str | None:
    found = re.search(rf'^(?:""")?{key}: (.+)$', path.read_text(), re.MULTILINE)
    return found.group(1) if found else None


EXPLOITS_WITH_RULE = [(path, rule) for path in EXPLOITS if (rule := header(path, "RULE"))]
TWINS = [(path, rule) for path in HONEST if (rule := header(path, "TWIN_OF"))]


def names(cases: list[tuple[Path, str]]) -> list[str]:
    return [path.stem for path, _ in cases]


@pytest.mark.parametrize(("path", "rule"), EXPLOITS_WITH_RULE, ids=names(EXPLOITS_WITH_RULE))
def test_a_rule_fires_on_its_exploit(path: Path, rule: str) -> None:
    assert rule in rules_seen(path.read_text())


@pytest.mark.parametrize(("path", "rule"), TWINS, ids=names(TWINS))
def test_a_rule_is_silent_on_its_honest_twin(path: Path, rule: str) -> None:
    assert rule not in rules_seen(path.read_text())


@pytest.mark.parametrize("path", HONEST, ids=lambda path: path.stem)
def test_nothing_is_found_in_an_honest_kernel(path: Path) -> None:
    assert findings(submission(path.read_text(), path.name)) == ()


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_has_an_exploit_and_an_honest_twin(rule: str) -> None:
    assert rule in [named for _, named in EXPLOITS_WITH_RULE]
    assert rule in [named for _, named in TWINS]


@pytest.mark.parametrize(
    ("source", "rule"),
    [
        ("import time as t\nt.perf_counter = f", "timer-rebinding"),
        ("from torch.cuda import Event as E\nE.elapsed_time = f", "timer-rebinding"),
        ("import time\nclock = time\nclock.time = f", "timer-rebinding"),
        ("import time\nsetattr(time, 'perf_' + 'counter', f)", "timer-rebinding"),
        ("import time\ntime.__dict__['time'] = f", "timer-rebinding"),
        ("import time\nvars(time)['time'] = f", "timer-rebinding"),
        ("import sys\nsys.modules['time'] = f", "timer-rebinding"),
        ("import sys\nsys.modules['time'].time = f", "timer-rebinding"),
        ("__import__('time').time = f", "timer-rebinding"),
        ("import torch\ngetattr(torch, 'cu' + 'da').synchronize = f", "timer-rebinding"),
        ("import time\ntime.time, x = f, 1", "timer-rebinding"),
        ("import threading\ndef kernel():\n  threading.Thread(target=f).start()", "thread-start"),
        ("import os\ndef kernel():\n  os.fork()\n  ','.join(words)", "thread-start"),
        ("open('/proc/self/maps')", "foreign-memory"),
        ("open(f'/proc/{pid}/mem')", "foreign-memory"),
        ("open('/proc/' + str(pid) + '/mem')", "foreign-memory"),
        ("libc.process_vm_readv()", "foreign-memory"),
        ("cache.get(x.data_ptr())", "pointer-cache"),
        ("def kernel(x):\n  key = x.data_ptr()\n  return cache[key]", "pointer-cache"),
        ("cache[f'{x.data_ptr()}'] = y", "pointer-cache"),
        ("signal.setitimer(signal.ITIMER_REAL, 1)", "signal-timer"),
        ("from signal import SIGCONT as word", "signal-timer"),
        ("getattr(libc, 'timer_' + 'create')", "signal-timer"),
    ],
)
def test_a_rule_sees_other_spellings(source: str, rule: str) -> None:
    assert rules_seen(source) == {rule}


@pytest.mark.parametrize(
    "source",
    [
        "import time\nstart = time.perf_counter()",
        "time = object()\ntime.time = 3",
        "self.time = 1",
        "def kernel(time):\n  time.count += 1",
        "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor() as p:\n  p.submit(f)",
        "import threading\nt = threading.Thread(target=f)\nt.start()\nt.join(1.5)",
        "open('/proc/cpuinfo')",
        '"""Never opens /proc/self/mem."""',
        "cache[x.data_ptr() % 16 == 0] = y",
        "lib.add(x.data_ptr(), y.data_ptr())",
        "# signal.SIGCONT",
    ],
)
def test_plain_uses_of_the_same_words_are_no_findings(source: str) -> None:
    assert rules_seen(source) == set()


def test_a_finding_names_the_file_and_the_line_of_the_fact() -> None:
    source = "import time\n\n\ntime.time = None\n"
    (finding,) = findings(submission(source, "mine.py"))
    assert (finding.file, finding.line, finding.fact) == ("mine.py", 4, "assigns time.time")


def test_findings_come_in_order_of_line_and_once_each() -> None:
    source = "import time\nopen('/proc/self/maps')\ntime.time = f\ntime.time = g; time.time = h\n"
    assert [finding.line for finding in findings(submission(source))] == [2, 3, 4]


def test_words_of_the_author_reach_a_fact_without_control_characters() -> None:
    (finding,) = findings(submission("import time\nsetattr(time, '\\x1b[31m' + 'a' * 2, f)"))
    assert finding.fact == "assigns time.\\x1b[31m*"


def test_facts_are_short_and_few_whatever_the_source() -> None:
    source = "import time\n" + "\n".join(f"time.{'a' * 1000}{i} = f" for i in range(500))
    found = findings(submission(source))
    assert len(found) == 200
    assert max(len(finding.fact) for finding in found) == 200


def test_facts_accuse_nobody() -> None:
    facts = [f.fact for path in EXPLOITS for f in findings(submission(path.read_text()))]
    assert not [fact for fact in facts if re.search("cheat|hack|exploit|malicious|suspicious|steal", fact)]


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("def kernel(:", id="syntax error"),
        pytest.param("\0", id="null byte"),
        pytest.param("", id="empty"),
        pytest.param("x = '\\d'", id="odd escape"),
        pytest.param("(" * 5000, id="parentheses"),
        pytest.param("a." * 5000 + "b", id="attributes"),
        pytest.param("-" * 50_000 + "1", id="minuses"),
        pytest.param("+".join(["'a'"] * 4000), id="sum"),
    ],
)
def test_odd_source_has_no_findings_and_no_error(source: str) -> None:
    assert findings(submission(source)) == ()


@given(st.text())
def test_any_text_is_read_without_an_error(source: str) -> None:
    assert isinstance(findings(submission(source)), tuple)


def test_cpp_source_is_not_read() -> None:
    assert findings(submission("import time\ntime.time = f", "kernel.cpp", "cpp")) == ()
