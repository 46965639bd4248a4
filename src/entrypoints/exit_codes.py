"""Exit codes beyond 0 and 1; they are those of sysexits.h."""

from typing import Final

EX_UNAVAILABLE: Final = 69
"""A part is away, or somebody else is at a row for longer than a command waits."""

EX_SOFTWARE: Final = 70
"""A fault of ours, told by a traceback."""

EX_IOERR: Final = 74
"""The output cannot be written."""

EX_CONFIG: Final = 78
"""A setting or the deployment has to be mended."""
