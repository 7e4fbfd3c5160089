"""The voice that speaks in the page: made of what `GET /voices` says, changed between two replies, heard as a sample.

    speakers = Speakers(scope, "http://…/speech", voices, "local", on_change=…, on_unit=…, on_heard=…, on_stop=…)
    speakers.begin()            # a new reply, by the voice that was chosen
    speakers.voice.delta("Hello.")
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from onetake.browser.elements import by_id
from onetake.browser.ffi import web, window
from onetake.browser.scope import Scope
from onetake.browser.voice import Voice
from onetake.browser.words import say
from onetake.errors import UsageError


class Speakers:
    """Owns the page's Voice. Loudness, pace, output and who speaks follow the settings (`web/settings.mjs`)."""

    def __init__(
        self,
        scope: Scope,
        speech_url: str,
        voices: list[dict[str, Any]],
        voice: str | None,
        **hooks: Callable[..., object],
    ) -> None:
        self._scope = scope
        self._speech_url = speech_url
        self._voices = {each["id"]: each for each in voices}
        self._speaks = self._chosen = voice
        self._hooks = hooks
        self._sample: Voice | None = None
        #: The one that speaks now.
        self.voice = self._made(hooks)
        self._offer_speeds()
        web().onSetting(scope.proxy(self._on_setting))

    @property
    def limit(self) -> dict[str, Any] | None:
        """How much the voice that speaks takes at once (`GET /voices`); None where that is not known."""
        return self._voices[self._speaks]["limit"] if self._speaks in self._voices else None

    def begin(self) -> None:
        """Begin a new reply. If another voice was chosen, it speaks from here on."""
        if self._sample is not None:
            self._sample.dispose()
            self._sample = None
        if self._chosen != self._speaks:
            before = self.voice
            before.dispose()
            self._speaks = self._chosen
            self.voice = self._made(self._hooks)
            # What is counted and written down is of the page, whoever speaks.
            self.voice.trace = before.trace
            self.voice.errors = before.errors
            self.voice.past_syntheses = before.past_syntheses + before.reading.conductor.syntheses
            self.voice.past_stale_dropped = before.past_stale_dropped + before.reading.conductor.stale_dropped
        self.voice.begin()

    def sample(self, text: str) -> None:
        """Let the chosen voice say `text`, apart from any reply."""
        if self._sample is not None:
            self._sample.dispose()
        self._sample = self._made({})
        self._sample.begin()
        self._sample.delta(text)
        self._sample.final()

    def _made(self, hooks: dict[str, Callable[..., object]]) -> Voice:
        chosen = self._voices.get(self._chosen or "")
        voice = Voice(
            self._scope,
            web().audioContext,
            speech_url=self._speech_url,
            voice=self._chosen,
            token=None,  # the browser shows a cookie
            concurrency=chosen["concurrency"] if chosen else 1,
            audio_tags=chosen["audio_tags"] if chosen else False,
            speeds=tuple(chosen["speeds"]) if chosen else (1, 1),
            title=window().document.title,
            **hooks,
        )
        voice.set_volume(float(web().setting("volume")))
        voice.mute(bool(web().setting("muted")))
        _set_speed(voice)
        if device := str(web().setting("device")):
            self._scope.spawn(self._use_device(voice, device))
        return voice

    def _on_setting(self, name: str, value: Any) -> None:
        match name:
            case "volume":
                for voice in filter(None, (self.voice, self._sample)):
                    voice.set_volume(float(value))
            case "muted":
                for voice in filter(None, (self.voice, self._sample)):
                    voice.mute(bool(value))
            case "speed":
                _set_speed(self.voice)
            case "voice":
                self._chosen = str(value)
                self._offer_speeds()
            case "device":
                self._scope.spawn(self._use_device(self.voice, str(value)))

    def _offer_speeds(self) -> None:
        """Let the listener choose among the speeds of the chosen voice, if it has more than one."""
        slowest, fastest = self._voices[self._chosen]["speeds"] if self._chosen in self._voices else (1, 1)
        field_js = by_id("speed")
        field_js.min, field_js.max = slowest, fastest
        field_js.closest(".choice").hidden = slowest == fastest
        if (speed := float(field_js.value)) != float(web().setting("speed")):  # the browser keeps it within them
            web().choose("speed", speed)

    async def _use_device(self, voice: Voice, device: str) -> None:
        note_js = by_id("settings-note")
        try:
            await voice.set_output_device(device)
            note_js.textContent = ""
        except UsageError:
            note_js.textContent = say("settings.device.failed")


def _set_speed(voice: Voice) -> None:
    """As the listener has chosen, or as near as this voice comes to it."""
    slowest, fastest = voice.speeds
    voice.set_speed(min(max(float(web().setting("speed")), slowest), fastest))
