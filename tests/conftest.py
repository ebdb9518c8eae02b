"""What every test shares: a data folder of its own, and example-based testing that ignores a busy machine."""

import os
import tempfile

from hypothesis import settings

# Before anything of hotlap runs: no test reads or writes the runs and calibrations of whoever runs them.
_home = tempfile.TemporaryDirectory(prefix="hotlap-tests-")
os.environ["HOTLAP_HOME"] = _home.name

# Seconds belong to the machine, not to the property: an example may be slow, it may not be wrong.
settings.register_profile("hotlap", deadline=None)
settings.load_profile("hotlap")
