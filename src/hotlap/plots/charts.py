"""Which charts a verdict has."""

from hotlap.model import Calibration, Run, Verdict
from hotlap.plots import bandwidth, distribution, intervals, roofline
from hotlap.plots.chart import Absent, Chart


def charts(verdict: Verdict, run: Run | None, calibration: Calibration | None) -> list[Chart | Absent]:
    """Roofline, or bandwidth where the problem states no arithmetic; intervals; distribution. A chart that
    cannot be drawn says why."""
    roof = roofline.info(verdict, calibration)
    bars = bandwidth.info(verdict)
    times = intervals.info(verdict)
    strips = distribution.info(verdict, run)
    return [
        roofline.chart(roof) if isinstance(roof, roofline.Roofline) else _bars(bars, roof),
        times if isinstance(times, Absent) else intervals.chart(times),
        strips if isinstance(strips, Absent) else distribution.chart(strips),
    ]


def _bars(bars: tuple[bandwidth.Bar, ...] | Absent, roof: Absent) -> Chart | Absent:
    return roof if isinstance(bars, Absent) else bandwidth.chart(bars)
