"""The speaking bar, the keys and the face: what the listener presses and sees of the voice.

    controls = Controls(scope, page)
    controls.show(Shown("speaking", status="state.speaking", can_stop=True, …))
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from onetake.browser.elements import by_id
from onetake.browser.ffi import web, window
from onetake.browser.scope import Scope
from onetake.browser.words import label, name

#: Where keys belong to what is written or chosen there.
TAKES_KEYS = "input, textarea, select, dialog, [contenteditable]"
#: What the space bar presses.
TAKES_SPACE = "button, summary, a"


class Player(Protocol):
    """What the controls ask for; each does nothing where there is nothing to do."""

    def pause(self) -> object: ...
    def stop(self) -> object: ...
    def replay(self) -> object: ...
    def back(self) -> object: ...
    def skip(self) -> object: ...
    def regenerate(self) -> object: ...


@dataclass(frozen=True, slots=True)
class Shown:
    """What the controls show. `state` is one of design 10, `status` a key of `web/words.mjs`."""

    state: str
    status: str
    emotion: str
    can_stop: bool
    can_replay: bool
    can_regenerate: bool


class Controls:
    """Everything in the bar but volume and mute, which are settings."""

    def __init__(self, scope: Scope, player: Player) -> None:
        self._shown: Shown | None = None
        self._face_js = web().Face.new(by_id("face"))
        self._press(scope, "pause", player.pause)
        self._press(scope, "skip", player.skip)
        self._press(scope, "replay", player.replay)
        self._press(scope, "stop", player.stop)
        self._press(scope, "regenerate", player.regenerate)
        self._keys: dict[str, Callable[[], object]] = {
            " ": player.pause,
            "Escape": player.stop,
            "r": player.replay,
            "ㄱ": player.replay,  # the same key of a Korean keyboard, as below
            "m": self._mute,
            "ㅡ": self._mute,
            "ArrowLeft": player.back,
            "ArrowRight": player.skip,
            "/": lambda: by_id("text").focus(),
            "?": lambda: by_id("help").showModal(),
        }
        scope.listen(window(), "keydown", self._on_key)

    def _press(self, scope: Scope, button: str, act: Callable[[], object]) -> None:
        scope.listen(by_id(button), "click", lambda _event: act())

    def _mute(self) -> None:
        by_id("mute").click()

    def listen_to(self, node_js: Any) -> None:
        """The face breathes with what goes through that AudioNode."""
        self._face_js.listen(node_js)

    def show(self, shown: Shown) -> None:
        """Show that; costs nothing if it is shown already."""
        if shown == self._shown:
            return
        if self._shown is None or shown.status != self._shown.status:  # or it would be announced again
            label(by_id("status"), shown.status)
        self._shown = shown
        self._face_js.show(shown.state, shown.emotion)
        paused = shown.state == "paused"
        by_id("pause").dataset.state = shown.state
        name(by_id("pause"), "voice.resume" if paused else "voice.pause")
        focused_js = window().document.activeElement
        for button in ("stop", "pause", "skip"):
            by_id(button).disabled = not shown.can_stop
        by_id("replay").disabled = not shown.can_replay
        by_id("regenerate").disabled = not shown.can_regenerate
        by_id("hear").hidden = shown.state != "blocked"
        if focused_js and (getattr(focused_js, "disabled", False) or focused_js.hidden):
            by_id("main").focus()  # a button that can no longer be pressed must not keep the keys to itself

    def _on_key(self, event_js: Any) -> None:
        if event_js.ctrlKey or event_js.metaKey or event_js.altKey or event_js.isComposing:
            return
        act = self._keys.get(event_js.key if len(event_js.key) > 1 else event_js.key.lower())
        if act is None or event_js.target.closest(TAKES_KEYS) or window().document.querySelector("dialog[open]"):
            return
        if event_js.key == " " and event_js.target.closest(TAKES_SPACE):
            return
        event_js.preventDefault()
        if not event_js.repeat:
            act()
