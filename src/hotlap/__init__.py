"""hotlap: a verdict on compute kernels that can be believed."""

__version__ = "0.1.0"
