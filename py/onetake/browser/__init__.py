"""The page's side in Python: the only package that may import `js`, `pyodide` or the page's own JS modules.

`scope`       owns every proxy, listener, timer, task and fetch
`take`        the audio of one unit as it arrives
`player`      the timeline: what sounds, on the audio clock (`performance`: one take on it)
`output`      how loud, on which device, and what if that goes away
`media`       the system's media controls
`synthesis`   one unit, one request
`voice`       all of these joined with cutter and conductor, for one reply at a time (`spoken_reply`: its state)
`inspection`  what `window.onetake.inspect()` returns
`devtools`    tracks in the browser's Performance panel and lines in its console
`replies`     the reply stream from the server
`page`        the WebUI
`embedding`   a voice for pages of other people (`embedded_voice`: what it can do)

Every module imports on ordinary CPython: what belongs to the browser is imported inside functions.
"""

from __future__ import annotations

from onetake.browser.embedding import create_voice

__all__ = ["create_voice"]
