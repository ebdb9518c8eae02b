"""Is a problem fit to judge kernels by? `audit_problem` looks for what would let a wrong kernel pass."""
