"""The error of a caller that misused Onetake.

Failures of the other side (an engine, a network, a model) are events and states, never exceptions of this
module.

    try:
        cutter.feed("more")
    except UsageError as error:
        print(error)          # names the value, the rule and the next step

Pure: any module of `onetake` may import it.
"""

from __future__ import annotations


class UsageError(ValueError):
    """You misused us; nothing was changed. The message names the value, the rule and the next step."""
