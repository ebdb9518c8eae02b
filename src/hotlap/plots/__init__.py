"""Pictures of what a verdict or a duel says: a function computes (tested), another draws.

matplotlib is the extra `plots`. Only `canvas` imports it, and what draws imports `canvas` when it draws:
numbers, captions and words work without it.
"""
