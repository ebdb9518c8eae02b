"""Charts as files: drawing is smoke-tested, what a file must hold is not."""

import csv
import io
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from hotlap.model import Run
from hotlap.plots import canvas, duel, files
from hotlap.plots.chart import Absent, Chart, Provenance, duel_provenance, provenance
from hotlap.plots.charts import charts
from tests.plots import samples
from tests.run_factory import gpu_run, workload
from tests.run_factory import samples as rounds

NASTY = "k$e^{r}$n_el\\alpha\u202e\x1b[31m" + 40 * "_very_long" + ".py"
SVG = "{http://www.w3.org/2000/svg}"


def drawn(run: Run, calibrated: bool = True) -> tuple[list[Chart], Provenance]:
    calibration = samples.CALIBRATION if calibrated else None
    verdict = samples.judged(run, calibration)
    found = charts(verdict, run, calibration)
    return [chart for chart in found if isinstance(chart, Chart)], provenance(verdict)


def texts(picture: bytes) -> list[str]:
    nodes = ElementTree.fromstring(picture).iter(f"{SVG}text")
    return [(node.text or "").replace("\N{NO-BREAK SPACE}", " ") for node in nodes]


def nasty_run() -> Run:
    axes = {f"${name}$_{'long' * 12}": 10**12 for name in ("batch", "heads", "sequence")}
    made = samples.softmax_run()
    workloads = tuple(replace(w, axes=axes) for w in made.workloads)
    return replace(made, workloads=workloads, submission=replace(made.submission, file=NASTY))


@pytest.mark.parametrize("width", [3.75, 10.0])
@pytest.mark.parametrize("calibrated", [True, False], ids=["calibrated", "uncalibrated"])
@pytest.mark.parametrize(
    "run",
    [
        samples.softmax_run(),
        samples.matmul_run(),
        samples.without_flops(samples.softmax_run()),
        nasty_run(),
        gpu_run(workload(samples=rounds(rounds=64))),
        gpu_run(workload(samples=rounds(single_ns=300_000, submission_ns=50_000))),
    ],
    ids=["memory", "compute", "no arithmetic", "nasty", "64 rounds without scatter", "overlapped"],
)
def test_every_chart_draws_at_every_width(run: Run, calibrated: bool, width: float) -> None:
    made, origin = drawn(run, calibrated)
    assert len(made) == 3
    with canvas.style():
        figure = files.compose(made, origin, width)
        figure.draw_without_rendering()
    assert figure.get_size_inches()[0] == width


def test_a_duel_draws() -> None:
    made = samples.duel()
    picture = files.picture([duel.chart(duel.info(made))], duel_provenance(made), ".svg")
    assert "two_pass.py is 0.511 % slower than online.py [0.491, 0.531]" in texts(picture)


def test_a_void_duel_draws_too() -> None:
    made = replace(samples.duel(), effect=None, ci=None, workloads=())
    assert files.picture([duel.chart(duel.info(made))], duel_provenance(made), ".png")


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_the_same_numbers_make_the_same_bytes(suffix: str) -> None:
    first, second = (files.picture(*drawn(samples.softmax_run()), suffix) for _ in range(2))
    assert first == second


def test_an_svg_holds_text_as_text_and_no_date() -> None:
    picture = files.picture(*drawn(samples.matmul_run()), ".svg")
    assert "Roofline" in texts(picture)
    assert any("NVIDIA H200" in said for said in texts(picture))
    assert b"dc:date" not in picture


def test_a_png_is_1200_pixels_wide() -> None:
    picture = files.picture(*drawn(samples.matmul_run()), ".png")
    assert picture[:8] == b"\x89PNG\r\n\x1a\n"
    assert int.from_bytes(picture[16:20]) == 1200


def test_text_of_others_is_neither_mathtext_nor_a_control_character() -> None:
    picture = files.picture(*drawn(nasty_run()), ".svg")
    shown = "\n".join(texts(picture))
    assert "k$e^{r}$n_el\\alpha" in shown
    assert "\x1b" not in shown
    assert "\u202e" not in shown


def test_no_text_leaves_the_picture() -> None:
    made, origin = drawn(nasty_run())
    with canvas.style():
        figure = files.compose(made, origin)
        figure.draw_without_rendering()
        boxes = [said.get_window_extent() for axes in figure.axes for said in axes.texts if said.get_text()]
    width, height = figure.canvas.get_width_height()
    assert boxes
    assert all(box.x0 > -2 and box.x1 < width + 2 for box in boxes)
    assert all(box.y0 > -2 and box.y1 < height + 2 for box in boxes)


def test_a_character_that_the_font_lacks_is_no_failure() -> None:
    run = samples.softmax_run()
    run = replace(run, submission=replace(run.submission, file="核心.py"))
    assert files.picture(*drawn(run), ".png")


def test_settings_of_matplotlib_are_as_before() -> None:
    import matplotlib

    before = matplotlib.rcParams.copy()
    files.picture(*drawn(samples.softmax_run()), ".svg")
    assert matplotlib.rcParams.copy() == before
    assert "matplotlib.pyplot" not in sys.modules


def test_a_prefix_gives_png_svg_and_csv_of_each_chart(tmp_path: Path) -> None:
    written = files.write_each(*drawn(samples.softmax_run()), f"{tmp_path}/softmax-")
    assert written == sorted(tmp_path.iterdir(), key=written.index)
    names = {
        f"softmax-{n}{s}" for n in ("roofline", "intervals", "distribution") for s in (".png", ".svg", ".csv")
    }
    assert {path.name for path in written} == names


def test_a_csv_has_units_in_its_header_and_nothing_where_nothing_was_measured() -> None:
    made, _ = drawn(samples.softmax_run(), calibrated=False)
    rows = list(csv.DictReader(io.StringIO(files.table(made[1]))))
    assert {"workload", "time_ns.estimate", "time_ns.ci_low", "time_ns.n", "limit_ns", "speedup"} <= set(
        rows[0]
    )
    assert rows[0]["workload"] == "rows=16384 cols=4096"
    assert rows[0]["limit_ns"] == ""


def test_a_chart_that_cannot_be_drawn_says_why() -> None:
    run = gpu_run(workload(samples=None), timed=False)
    found = charts(samples.judged(run), run, samples.CALIBRATION)
    assert found == [Absent(name, "checked, not timed") for name in ("roofline", "intervals", "distribution")]


def test_numbers_and_words_need_no_matplotlib() -> None:
    code = (
        "import sys\nsys.modules['matplotlib'] = None\n"
        "from hotlap.plots import charts, chart, duel, words\n"
        "from tests.plots import samples\n"
        "run = samples.softmax_run()\nverdict = samples.judged(run)\n"
        "made = charts.charts(verdict, run, samples.CALIBRATION)\n"
        "duel.info(samples.duel())\nwords.sentence(verdict)\nchart.provenance(verdict)\n"
        "sys.exit(0 if len(made) == 3 else 1)"
    )
    root = Path(__file__).parent.parent.parent
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60, cwd=root
    )
    assert done.returncode == 0, done.stderr
