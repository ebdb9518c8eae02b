"""Facts about source text. See `hotlap.guard.guard`."""
