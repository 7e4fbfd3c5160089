"""The system's media controls (Media Session): what is being spoken, with play, pause and stop.

    session = MediaSession(scope, "Onetake", play=voice.resume, pause=voice.pause, stop=voice.stop)
    session.show(voice.state)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from onetake.browser.ffi import js_object, window
from onetake.browser.scope import Scope

#: By the voice's state; a state that is not here holds nothing.
_PLAYBACK = {"speaking": "playing", "blocked": "paused", "paused": "paused"}
#: Between two units, and while the reply is written, the session stays as it is.
_STAYS = "listening"


class MediaSession:
    """Holds the media session from the first sound of a reply to its end, and nothing otherwise.

    The system has one session for a page: of several voices, the one that began last holds it.
    """

    _holder: ClassVar[Scope | None] = None

    def __init__(
        self,
        scope: Scope,
        title: str,
        *,
        play: Callable[[], object],
        pause: Callable[[], object],
        stop: Callable[[], object],
    ) -> None:
        self._scope = scope
        self._title = title
        self._actions = {"play": play, "pause": pause, "stop": stop}
        self._session_js: Any = getattr(window().navigator, "mediaSession", None)
        self._held: Scope | None = None

    def show(self, state: str) -> None:
        """Follow the voice's state (design 10)."""
        if not self._session_js or (state == _STAYS and self._held is not None):
            return
        playback = _PLAYBACK.get(state)
        if playback is None:
            if self._held is not None:
                self._held.dispose()
                self._held = None
            return
        if self._held is None:
            self._held = self._hold()
        self._session_js.playbackState = playback

    def _hold(self) -> Scope:
        session_js = self._session_js
        held = self._scope.child()

        def let_go() -> None:
            from pyodide.ffi import jsnull

            if MediaSession._holder is not held:
                return
            MediaSession._holder = None
            session_js.playbackState = "none"
            session_js.metadata = jsnull
            for action in self._actions:
                session_js.setActionHandler(action, jsnull)

        session_js.metadata = window().MediaMetadata.new(js_object({"title": self._title}))
        for action, function in self._actions.items():
            session_js.setActionHandler(action, held.proxy(_without_result(function)))
        held.own(let_go, "media session")
        MediaSession._holder = held
        return held


def _without_result(function: Callable[[], object]) -> Callable[[Any], None]:
    """A Task that the function returned would become a proxy nobody owns."""

    def act(_details_js: Any) -> None:
        function()

    return act
