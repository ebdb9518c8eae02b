"""Numbers in, numbers out: estimates and the intervals that go with them."""

from hotlap.stats.bootstrap import bootstrap_interval
from hotlap.stats.confidence_sequence import confidence_sequence
from hotlap.stats.decision import (
    AaErrors,
    Floor,
    OrderEffect,
    aa_errors,
    decide,
    floor95,
    order_effect,
    overall,
    screen,
    successive_duels,
    without_placement,
)
from hotlap.stats.fast_p import fast_p, sure_fast_p
from hotlap.stats.geomean import geomean, geomean_interval, widen
from hotlap.stats.hodges_lehmann import hodges_lehmann, hodges_lehmann_interval
from hotlap.stats.interval import quantile_interval
from hotlap.stats.pass_at_k import pass_at_k
from hotlap.stats.proportion import clopper_pearson
from hotlap.stats.ranks import rank_intervals
from hotlap.stats.variance import Components, variance_components

__all__ = [
    "AaErrors",
    "Components",
    "Floor",
    "OrderEffect",
    "aa_errors",
    "bootstrap_interval",
    "clopper_pearson",
    "confidence_sequence",
    "decide",
    "fast_p",
    "floor95",
    "geomean",
    "geomean_interval",
    "hodges_lehmann",
    "hodges_lehmann_interval",
    "order_effect",
    "overall",
    "pass_at_k",
    "quantile_interval",
    "rank_intervals",
    "screen",
    "successive_duels",
    "sure_fast_p",
    "variance_components",
    "widen",
    "without_placement",
]
