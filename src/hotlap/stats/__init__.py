"""Numbers in, numbers out: estimates and the intervals that go with them."""

from hotlap.stats.fast_p import fast_p
from hotlap.stats.geomean import geomean, geomean_interval, widen
from hotlap.stats.hodges_lehmann import hodges_lehmann, hodges_lehmann_interval
from hotlap.stats.interval import quantile_interval

__all__ = [
    "fast_p",
    "geomean",
    "geomean_interval",
    "hodges_lehmann",
    "hodges_lehmann_interval",
    "quantile_interval",
    "widen",
]
