"""The page of a verdict: whole in itself, and nothing that an author wrote is more than text in it."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from hotlap.model import Finding, Sandbox, Status, SubmissionInfo, Verdict
from hotlap.plots.report import POLICY, report
from tests.cli import factory
from tests.plots import samples

EVIL = "</pre><script>alert(1)</script><img src=x onerror=y>\x1b[31m\u202e\"'"
VOID = {"meta", "br"}


class Page(HTMLParser):
    """Elements with their attributes and text, in order; fails on a tag that is not closed."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(source)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def page(verdict: Verdict | None = None, source: str | None = None) -> Page:
    run = samples.softmax_run()
    if verdict is None:
        return Page(report(samples.judged(run), run, samples.CALIBRATION, source))
    return Page(report(verdict, None, None, source))


def evil() -> Verdict:
    return factory.rejected(
        Status.failed,
        f"{EVIL}\n{EVIL}",
        detail=EVIL,
        output=EVIL,
        submission=SubmissionInfo("ab" * 32, f"{EVIL}.py", "python", "out", EVIL),
        findings=(Finding(EVIL, EVIL, 3, EVIL),),
        workloads=(factory.untimed(axes={EVIL: 3}, status="failed", error=EVIL, mode=EVIL),),
        sandbox=Sandbox("bwrap", (EVIL,)),
        device=replace(factory.CPU, name=EVIL),
    )


@pytest.mark.parametrize("made", [page(), page(evil(), EVIL)], ids=["accepted", "evil"])
def test_the_page_asks_for_nothing_and_runs_nothing(made: Page) -> None:
    assert {"script", "img", "link", "iframe", "object", "form", "base", "a"}.isdisjoint(
        tag for tag, _ in made.elements
    )
    for _, attributes in made.elements:
        assert not any(name.startswith("on") for name in attributes)
        assert all(
            (value or "").startswith("#") for name, value in attributes.items() if name in ("href", "src")
        )
    policies = [a["content"] for a in made.all("meta") if a.get("http-equiv") == "Content-Security-Policy"]
    assert policies == [POLICY]


def test_the_style_loads_nothing() -> None:
    run = samples.softmax_run()
    source = report(samples.judged(run), run, samples.CALIBRATION)
    assert "@import" not in source
    assert set(re.findall(r"url\((.)", source)) <= {"#"}


def test_what_an_author_wrote_is_shown_as_text() -> None:
    made = page(evil(), EVIL)
    assert made.text.count("<script>alert(1)</script>") >= 8
    assert "\x1b" not in made.text
    assert "\u202e" not in made.text


def test_the_page_opens_with_the_verdict_in_words_and_the_score() -> None:
    said = page().text
    assert "✓ Accepted" in said
    assert "The answers are right, and it is 1.194 times as fast as the baseline." in said
    assert "1.194x" in said
    assert "[1.193, 1.195]" in said


@pytest.mark.parametrize(
    ("limit_ns", "label", "share"), [(156_200.0, "Of the roofline", "50 %"), (None, "Of the floor", "44 %")]
)
def test_the_share_of_the_roofline_stands_in_large_type_or_else_that_of_the_floor(
    limit_ns: float | None, label: str, share: str
) -> None:
    assert f"{label}{share}" in page(factory.accepted(workloads=(factory.bench(limit_ns=limit_ns),))).text


def test_the_table_has_the_columns_of_the_terminal() -> None:
    labels = {cell["data-label"] for cell in page().all("td")}
    assert {"workload", "axes", "mode", "time", "vs baseline", "of floor", "error/tol", "status"} <= labels
    labels = {cell["data-label"] for cell in page(factory.accepted()).all("td")}
    assert "p5" in labels
    assert "mode" not in labels


def test_hidden_workloads_are_shown_with_their_axes() -> None:
    assert "rows=12641 cols=3943" in page().text


def test_the_roofline_stands_in_numbers_too() -> None:
    made = page()
    assert {"limit", "of limit", "headroom", "bound"} <= {cell["data-label"] for cell in made.all("td")}
    assert "peak-bfloat16" in made.text


def test_each_chart_comes_in_two_sizes_and_says_what_it_shows() -> None:
    pictures = page().all("svg")
    assert len(pictures) == 6
    assert all(picture["role"] == "img" and picture["aria-label"] for picture in pictures)
    assert all("width" not in picture for picture in pictures)


def test_no_two_elements_share_an_id() -> None:
    ids = [attributes["id"] for _, attributes in page().elements if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_every_reference_inside_a_picture_leads_somewhere() -> None:
    made = page()
    ids = {attributes["id"] for _, attributes in made.elements if "id" in attributes}
    values = [value or "" for _, attributes in made.elements for value in attributes.values()]
    targets = {value[1:] for value in values if re.fullmatch(r"#[\w.-]+", value)}
    targets |= {found for value in values for found in re.findall(r"url\(#([^)]+)\)", value)}
    assert targets <= ids


def test_pictures_have_no_colour_of_their_own() -> None:
    made = page()
    inside = [a.get("style") or "" for tag, a in made.elements if tag in ("path", "use", "text", "g")]
    assert [style for style in inside if re.search(r"#[0-9a-f]{6}", style)] == []


def test_findings_gaps_machine_versions_run_and_command_are_there() -> None:
    verdict = factory.on_gpu(findings=(factory.FINDING,), sandbox=Sandbox("bwrap", ("no pids cgroup",)))
    said = page(verdict).text
    for part in (
        *("timer-rebinding", "kernel.py, line 12", "did not enforce: no pids cgroup", "GPU-example"),
        *("580.1", "1830 to 1980 MHz", "2.11.0", "0.1.0, judge", "01JD3W8Q4N"),
        "hotlap run basics/softmax kernel.py --device cuda",
        "at least 270 secretly chosen calls",
    ):
        assert part in said


def test_self_reported_and_unsandboxed_are_loud() -> None:
    made = page(factory.claimed(sandbox=Sandbox("none", ("everything",))))
    loud = [a for a in made.all("p") if a.get("class") == "warning loud"]
    assert len(loud) == 2
    assert "time CLAIMED" in {cell["data-label"] for cell in made.all("td")}


def test_a_verdict_without_times_has_no_charts_and_says_why() -> None:
    made = page(factory.rejected(Status.wrong, "y[0] is 1", workloads=(factory.untimed(status="wrong"),)))
    assert made.all("svg") == []
    assert "An answer is wrong: y[0] is 1." in made.text
    assert "no score: the run is wrong" in made.text


def test_without_the_stored_rounds_the_page_says_so() -> None:
    assert "Not drawn: the rounds of this run are not stored." in page(factory.on_gpu()).text


def test_the_source_is_at_the_end_and_folded() -> None:
    made = page(source="def kernel(x): ...\n")
    assert made.text.count("def kernel(x): ...") == 1
    assert len(made.all("details")) == 2
    assert all("open" not in attributes for attributes in made.all("details"))


def test_the_same_verdict_gives_the_same_page() -> None:
    run = samples.softmax_run()
    pages = [report(samples.judged(run), run, samples.CALIBRATION) for _ in range(2)]
    assert pages[0] == pages[1]
