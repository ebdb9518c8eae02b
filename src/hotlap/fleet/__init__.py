"""Many verdicts: a suite of problems, samples for each, one table at the end."""
