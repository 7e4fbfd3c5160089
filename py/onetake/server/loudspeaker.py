"""Plays a WAV file with what the system has for it.

    if player() is None: ...        # nothing here plays sound
    play(Path("take.wav"))          # returns at its end

Used by `onetake say`.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from onetake.server.refusal import Refusal

# The ones that fail where there is no sound card come after those that ask a sound server.
_PLAYERS = (
    ("afplay",),
    ("pw-play",),
    ("paplay",),
    ("aplay", "-q"),
    ("ffplay", "-nodisp", "-autoexit", "-loglevel", "error"),
)
_WINDOWS = (
    sys.executable,
    "-c",
    "import sys, winsound; winsound.PlaySound(sys.argv[1], winsound.SND_FILENAME)",
)


def player() -> Sequence[str] | None:
    """The command that plays a file named after it, or None if there is none here."""
    if sys.platform == "win32":
        return _WINDOWS
    return next((command for command in _PLAYERS if shutil.which(command[0])), None)


def play(file: Path) -> None:
    """Play `file` to its end. A player that fails is a Refusal in its own words."""
    command = player()
    assert command is not None
    done = subprocess.run([*command, str(file)], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        (*_, why) = ["", *done.stderr.strip().split("\n")]
        raise Refusal(f"{command[0]} cannot play the take: {why or done.returncode}; write a file with -o FILE instead")
