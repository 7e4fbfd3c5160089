"""Where the voice comes out: how loud, on which device, and what happens when that device goes away.

    output = Output(scope, on_lost, on_settled)
    output.set_volume(0.5)
    output.open(context_js)             # once there is an AudioContext
    bus_js.connect(output.node_js)
    await output.set_device("…")        # an id of navigator.mediaDevices.enumerateDevices()
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from onetake.browser.ffi import window
from onetake.browser.scope import Scope
from onetake.errors import UsageError

#: A change of the volume takes this long, so that it is no click.
GLIDE_S = 0.01
#: A context that moves to another device is suspended meanwhile (Chromium: 50 ms) and says when it runs again.
SETTLE_S = 1.0


class Output:
    """The last node before the device. `on_lost` is called when the device in use has gone away, `on_settled` when the
    context should run on another one by now.

    A browser tells which devices there are only to pages that may use a microphone; where it does not, the loss
    is noticed by the context's own events, if at all.
    """

    def __init__(self, scope: Scope, on_lost: Callable[[], object], on_settled: Callable[[], object]) -> None:
        self._scope = scope
        self._context_js: Any = None
        self._on_lost = on_lost
        self._on_settled = on_settled
        self._moves = 0
        self.volume = 1.0
        self.muted = False
        #: The chosen device; "" is the browser's own choice.
        self.device = ""
        self._devices: set[str] = set()
        #: What everything that sounds is to be connected to.
        self.node_js: Any = None

    def open(self, context_js: Any) -> None:
        """Let the voice out of `context_js`, as loud and on the device that was chosen before."""
        self._context_js = context_js
        self.node_js = context_js.createGain()
        self.node_js.connect(context_js.destination)
        self._scope.own(self.node_js.disconnect, "node")
        self._apply()
        if self.device:
            self._scope.spawn(self.set_device(self.device))
        self._scope.listen(context_js, "error", lambda _event: self._on_lost())
        devices_js = getattr(window().navigator, "mediaDevices", None)  # there is none in an insecure context
        if devices_js:
            self._scope.listen(devices_js, "devicechange", lambda _event: self._scope.spawn(self._look()))
            self._scope.spawn(self._look())

    @property
    def moving(self) -> bool:
        """The context is on its way to another device: that it does not run now is nobody's doing."""
        return self._moves > 0

    def set_volume(self, volume: float) -> None:
        """From 0 to 1. Kept while muted."""
        if not 0 <= volume <= 1:
            raise UsageError(f"the volume is {volume!r}: pass a number from 0 (silent) to 1 (as the voice speaks)")
        self.volume = volume
        self._apply()

    def mute(self, on: bool) -> None:
        """Silence the output, or bring it back to its volume; the voice goes on either way."""
        self.muted = on
        self._apply()

    def _apply(self) -> None:
        if self.node_js is None:
            return
        gain_js, now_s = self.node_js.gain, self._context_js.currentTime
        target = 0.0 if self.muted else self.volume
        gain_js.cancelScheduledValues(now_s)
        if self._context_js.state == "running":
            gain_js.setValueAtTime(gain_js.value, now_s)
            gain_js.linearRampToValueAtTime(target, now_s + GLIDE_S)
        else:  # nothing is heard that could click
            gain_js.setValueAtTime(target, now_s)

    async def set_device(self, device: str) -> None:
        """Play on that device ("": the browser's own choice); the sound goes on at the same sample.

        Raises UsageError where the browser has no such device, or cannot choose one.
        """
        from pyodide.ffi import JsException

        if not hasattr(window().AudioContext.prototype, "setSinkId"):
            raise UsageError("this browser cannot choose an output device: choose it in the system's settings")
        try:
            if self._context_js is not None:
                self._moves += 1
                self._scope.after(SETTLE_S, self._settle)
                await self._context_js.setSinkId(device)
        except JsException as error:
            raise UsageError(
                f"{device!r} cannot be played on ({error}): pass a deviceId of an audiooutput that "
                "navigator.mediaDevices.enumerateDevices() lists now, or '' for the usual one"
            ) from None
        self.device = device

    def _settle(self) -> None:
        self._moves -= 1
        self._on_settled()

    async def _look(self) -> None:
        """Compare the devices with those of the last look."""
        from pyodide.ffi import JsException

        try:
            found_js = await window().navigator.mediaDevices.enumerateDevices()
        except JsException:
            return  # a policy of the page forbids to look
        devices = {str(device_js.deviceId) for device_js in found_js if device_js.kind == "audiooutput"}
        lost = self._devices - devices
        self._devices = devices
        # Without a chosen device the browser moves on by itself: what was pulled out was in use, as far as
        # anyone can tell, and the room is not to hear the rest.
        if lost and (not self.device or self.device in lost):
            self._on_lost()
            if self.device:
                await self.set_device("")
