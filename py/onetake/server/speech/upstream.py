"""What the engines behind HTTP share: patience, asking again, and failures that are told without secrets.

    upstream = Upstream("ElevenLabs", secrets=[key])
    ways = Ladder("stream/with-timestamps", "stream", "")
    async with upstream.ask(ways, send, declined) as (way, answer):
        async for chunk in answer.chunks: ...           # the body, from its first byte on

One unit is one request. It is sent again only while nothing of an answer has come: twice at most where there
were too many requests or the server failed, and once for each way of asking that the server does not have,
which is remembered. `onetake.server.speech.refusals` reads the errors. Used by the engines of this package.
"""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

import anyio
import httpx2

from onetake.server.speech.engine import EngineError
from onetake.server.speech.refusals import Refused, refused

RETRIES = 2
ERROR_BYTES = 65_536  # of an error's body; more says nothing more
MESSAGE = 400  # characters that a listener is shown at most
SECRET = 6  # characters; a shorter key is a word like "none" for a server that wants any
KEEP_OPEN_S = 30.0  # an idle connection: the next unit then needs no TLS handshake

# Asked for, so that no proxy packs the sound and holds it back for that.
HEADERS = {"accept-encoding": "identity"}

Way = TypeVar("Way")


@dataclass(frozen=True, slots=True)
class Patience:
    """How long an upstream may take, and how long to wait before asking again; seconds."""

    connect_s: float = 5.0
    first_byte_s: float = 30.0
    between_bytes_s: float = 15.0
    queue_s: float = 0.3  # too many at once: a place may be free in a moment
    busy_s: float = 1.0  # the service is busy: leave it alone
    longest_s: float = 20.0  # a Retry-After beyond it is not waited for; the listener is told instead


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer that has begun: its headers, and its body from the first byte on."""

    headers: httpx2.Headers
    chunks: AsyncIterator[bytes]

    @property
    def media_type(self) -> str:
        """The content type without its parameters, in lower case."""
        return str(self.headers.get("content-type", "")).partition(";")[0].strip().lower()


class Ladder(Generic[Way]):
    """Ways to ask for a take, the best first. What a server has refused is left out once another way has worked."""

    def __init__(self, *ways: Way) -> None:
        self.ways: Sequence[Way] = ways

    @property
    def best(self) -> Way:
        """The best way there is, as far as it is known."""
        return self.ways[0]

    def settle(self, way: Way) -> None:
        """`way` has worked, and those before it were refused; so may it have been, meanwhile, by another request."""
        if way in self.ways:
            self.ways = self.ways[self.ways.index(way) :]


class Upstream:
    """A speech service behind HTTP. `name` is for people; none of `secrets` ever appears in an error."""

    def __init__(self, name: str, secrets: Sequence[str], patience: Patience) -> None:
        self.name = name
        self._secrets = [secret for secret in secrets if len(secret) >= SECRET]
        self._patience = patience
        self.client = httpx2.AsyncClient(
            timeout=httpx2.Timeout(None, connect=patience.connect_s),  # the other times are kept here
            limits=httpx2.Limits(keepalive_expiry=KEEP_OPEN_S),
            follow_redirects=False,  # the key is for this host alone
            headers=HEADERS,
        )

    async def aclose(self) -> None:
        """Close what connections are open."""
        await self.client.aclose()

    @asynccontextmanager
    async def ask(
        self,
        ways: Ladder[Way],
        send: Callable[[Way], AbstractAsyncContextManager[httpx2.Response]],
        declined: Callable[[Refused], bool],
    ) -> AsyncIterator[tuple[Way, Answer]]:
        """Ask for a take, the best way first, and the next one where the server `declined` a way of asking.

        Gives the way that worked and the answer. Leaving closes the connection unless the body was read to its
        end. Raises `EngineError`, which is `Refused` where the server answered with an error.
        """
        async with AsyncExitStack() as stack:
            yield await self._first_accepted(stack, ways, send, declined)

    async def _first_accepted(
        self,
        stack: AsyncExitStack,
        ways: Ladder[Way],
        send: Callable[[Way], AbstractAsyncContextManager[httpx2.Response]],
        declined: Callable[[Refused], bool],
    ) -> tuple[Way, Answer]:
        *better, last = ways.ways
        for way in better:
            try:
                answer = await self._repeatedly(stack, send, way)
            except Refused as refusal:
                if not declined(refusal):
                    raise
            else:
                ways.settle(way)
                return way, answer
        answer = await self._repeatedly(stack, send, last)
        ways.settle(last)
        return last, answer

    async def _repeatedly(
        self, stack: AsyncExitStack, send: Callable[[Way], AbstractAsyncContextManager[httpx2.Response]], way: Way
    ) -> Answer:
        for attempt in range(RETRIES):
            try:
                return await self._once(stack, send(way))
            except Refused as refusal:
                pause_s = self._pause_s(refusal, attempt)
                if pause_s is None:
                    raise
            await anyio.sleep(pause_s)
        return await self._once(stack, send(way))

    def _pause_s(self, refusal: Refused, attempt: int) -> float | None:
        """How long to wait before asking again; None: asking again would not help, or not in time."""
        if not refusal.passing:
            return None
        if refusal.retry_after_s is not None:
            pause_s = refusal.retry_after_s
        elif refusal.code == "too_many_concurrent":
            pause_s = self._patience.queue_s
        else:
            pause_s = self._patience.busy_s * 2**attempt
        # Spread, so that all who were refused at once do not come back at once.
        return pause_s * random.uniform(1, 1.5) if pause_s <= self._patience.longest_s else None

    async def _once(self, stack: AsyncExitStack, sending: AbstractAsyncContextManager[httpx2.Response]) -> Answer:
        """One request, up to the first byte of its answer; `stack` is given what closes it."""
        async with AsyncExitStack() as attempt:
            try:
                with anyio.fail_after(self._patience.first_byte_s):
                    response = await attempt.enter_async_context(sending)
                    body = await attempt.enter_async_context(aclosing(response.aiter_bytes()))
                    if not response.is_success:
                        raise self.refused(response.status_code, response.headers, await _beginning(body))
                    first = await anext(body, b"")
            except TimeoutError:
                raise self._timeout(f"sent nothing for {self._patience.first_byte_s:g} s") from None
            except httpx2.ConnectTimeout:
                raise self._timeout(f"took no connection for {self._patience.connect_s:g} s") from None
            except httpx2.ConnectError as error:
                raise EngineError("engine_unreachable", self.tell(f"{self.name} cannot be reached: {error}")) from None
            except httpx2.RequestError as error:
                raise EngineError("engine_failed", self.tell(f"{self.name} broke off: {error}")) from None
            rest = await attempt.enter_async_context(aclosing(self._rest(first, body)))
            stack.push_async_exit(attempt.pop_all())
        return Answer(response.headers, rest)

    async def _rest(self, first: bytes, body: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
        chunk: bytes | None = first
        while chunk is not None:
            yield chunk
            try:
                with anyio.fail_after(self._patience.between_bytes_s):
                    chunk = await anext(body, None)
            except TimeoutError:
                raise self._timeout(f"fell silent for {self._patience.between_bytes_s:g} s amid the take") from None
            except httpx2.RequestError as error:
                raise EngineError("take_cut_short", self.tell(f"{self.name} broke off the take: {error}")) from None

    # -- what is said of a failure -------------------------------------------------------------

    def refused(self, status: int, headers: httpx2.Headers, body: bytes) -> Refused:
        """The error in that answer, whatever its status."""
        return refused(self.name, status, headers, body, self.tell)

    def bad_audio(self, what: str) -> EngineError:
        """The answer is no sound: `what` it is instead."""
        return EngineError("bad_audio", self.tell(f"{self.name} sent {what}."))

    def _timeout(self, what: str) -> EngineError:
        return EngineError("engine_timeout", f"{self.name} {what}.")

    def tell(self, text: str) -> str:
        """`text` for people: on one line, not too long, and without a secret."""
        for secret in self._secrets:
            text = text.replace(secret, "…")
        text = " ".join(text.split())
        return text if len(text) <= MESSAGE else text[: MESSAGE - 1] + "…"


async def _beginning(body: AsyncIterator[bytes]) -> bytes:
    said = b""
    async for chunk in body:
        said += chunk
        if len(said) > ERROR_BYTES:
            break
    return said[:ERROR_BYTES]
