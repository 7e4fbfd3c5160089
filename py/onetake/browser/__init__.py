"""The page's side in Python: the only package that may import `js`, `pyodide` or the page's own JS modules.

`scope`       owns every proxy, listener, timer, task and fetch
`take`        the audio of one unit as it arrives
`player`      the timeline: what sounds, on the audio clock
`synthesis`   one unit, one request
`voice`       cutter, conductor, player and synthesis joined for one reply at a time
`inspection`  what `window.onetake.inspect()` returns
`replies`     the reply stream from the server
`page`        the WebUI

Every module imports on ordinary CPython: what belongs to the browser is imported inside functions.
"""
