"""Numbers in, numbers out: estimates and the intervals that go with them."""

from hotlap.stats.confidence_sequence import confidence_sequence
from hotlap.stats.fast_p import fast_p
from hotlap.stats.geomean import geomean, geomean_interval, widen
from hotlap.stats.hodges_lehmann import hodges_lehmann, hodges_lehmann_interval
from hotlap.stats.interval import quantile_interval
from hotlap.stats.proportion import clopper_pearson
from hotlap.stats.ranks import rank_intervals
from hotlap.stats.variance import Components, variance_components

__all__ = [
    "Components",
    "clopper_pearson",
    "confidence_sequence",
    "fast_p",
    "geomean",
    "geomean_interval",
    "hodges_lehmann",
    "hodges_lehmann_interval",
    "quantile_interval",
    "rank_intervals",
    "variance_components",
    "widen",
]
