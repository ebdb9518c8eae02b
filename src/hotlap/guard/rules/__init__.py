"""One rule a file. The list of them is `hotlap.guard.guard.RULES`."""
