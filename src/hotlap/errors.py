"""One error class for each boundary that a failure can cross: the class says whose fault it is.

A message says where, what was found, what is allowed and what to do next, in that order.
"""


class HotlapError(Exception):
    """Base of the errors that hotlap reports to a person; anything else is a bug in hotlap."""


class UsageError(HotlapError):
    """The command line or a call asked for something that does not exist. Exit code 2."""


class ProblemError(HotlapError):
    """The problem is at fault: a bad file, or a reference that raises."""


class SubmissionError(HotlapError):
    """The author's code is at fault: it does not build, load, answer or keep the contract."""


class DeviceError(HotlapError):
    """The machine cannot do this: too little memory, no compiler, a missing library."""


class HarnessError(HotlapError):
    """hotlap itself failed, or something outside the run disturbed it."""


class OutOfDeviceMemory(DeviceError):
    """A GPU has too little memory left for what the referee needs."""
