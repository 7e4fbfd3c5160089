"""The routes of the reply stream: begin, read (again), regenerate, stop, and how far it was heard.

    app.include_router(router(Replies(build_agent(None))))

Events go out through FastAPI's own server-sent events, which also sends a comment line every 15 seconds of
silence and the headers against caching and proxy buffering. May be imported by `onetake.server.app`.
"""

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Response
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import BaseModel, BeforeValidator, Field

from onetake.server.errors import ApiError
from onetake.server.replies import LoggedEvent, Replies, Reply
from onetake.server.transcript import well_formed

TEXT_LIMIT = 10_000
"""Code points of one message from the listener."""

_WellFormed = BeforeValidator(lambda value: well_formed(value) if isinstance(value, str) else value)


class NewReply(BaseModel):
    """A message of the listener's. `conversation` is any id; an unknown one begins a conversation of that
    id."""

    text: Annotated[str, _WellFormed]
    conversation: Annotated[str | None, Field(pattern=r"^[A-Za-z0-9_.:-]{1,100}$")] = None
    spoken: bool = True


class Heard(BaseModel):
    """How far a reply was heard: the code point `at`, of the take `generation` (the current one if left
    out)."""

    at: Annotated[int, Field(strict=True)]
    generation: Annotated[int | None, Field(strict=True)] = None


class Generation(BaseModel):
    """The take that is being written now."""

    generation: int


def router(replies: Replies) -> APIRouter:
    """The routes of design section 6 that concern replies, over this store."""
    routes = APIRouter(tags=["replies"])

    async def begun(new: NewReply, response: Response) -> Reply:
        if not new.text.strip():
            raise ApiError(422, "empty_text", "text is empty: say something to get a reply.")
        if len(new.text) > TEXT_LIMIT:
            raise ApiError(
                413,
                "text_too_long",
                f"text has {len(new.text)} characters: at most {TEXT_LIMIT} are taken. Send it in parts.",
                limit=TEXT_LIMIT,
                unit="characters",
                length=len(new.text),
            )
        reply = replies.start(new.text, new.conversation, new.spoken)
        response.headers["Location"] = f"/replies/{reply.id}"
        return reply

    async def known(id: str) -> Reply:
        return replies.get(id)

    Known = Annotated[Reply, Depends(known)]  # noqa: N806  (a type)

    async def following(
        reply: Known, last_event_id: Annotated[int, Header(ge=0)] = 0
    ) -> AsyncIterator[LoggedEvent]:
        return reply.events(last_event_id)

    @routes.post("/replies", response_class=EventSourceResponse)
    async def create(reply: Annotated[Reply, Depends(begun)]) -> AsyncIterator[ServerSentEvent]:
        """Begin a reply and stream its events; Location names it."""
        async for event in reply.events(after=0):
            yield _sent(event)

    @routes.get("/replies/{id}/events", response_class=EventSourceResponse)
    async def events(
        rest: Annotated[AsyncIterator[LoggedEvent], Depends(following)],
    ) -> AsyncIterator[ServerSentEvent]:
        """The events after `Last-Event-ID`, then live ones until the take ends."""
        async for event in rest:
            yield _sent(event)

    @routes.post("/replies/{id}/regenerate")
    async def regenerate(reply: Known) -> Generation:
        """Start over: the stream gets `reset`. A reader whose stream had ended opens it again."""
        return Generation(generation=reply.regenerate())

    @routes.delete("/replies/{id}", status_code=204)
    async def stop(reply: Known) -> None:
        """Write no more: the stream ends with `stopped`."""
        reply.stop()

    @routes.put("/replies/{id}/heard", status_code=204)
    async def heard(reply: Known, heard: Heard) -> None:
        """Keep only what was heard in the conversation."""
        reply.heard(heard.at, heard.generation)

    return routes


def _sent(event: LoggedEvent) -> ServerSentEvent:
    return ServerSentEvent(id=str(event.id), event=event.name, raw_data=event.data)
