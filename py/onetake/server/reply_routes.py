"""The routes of the reply stream: begin, read (again), regenerate, stop, and how far it was heard.

    app.include_router(router(Replies(build_agent(None))))

Events that are there together go out together, in one write. FastAPI's own server-sent events, each a model, a queue
and a write, cannot do that. May be imported by `onetake.server.app`.
"""

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Depends, Header
from pydantic import BaseModel, BeforeValidator, Field
from starlette.responses import StreamingResponse

from onetake.server.errors import ApiError
from onetake.server.replies import Replies, Reply
from onetake.server.store import LoggedEvent, StoreUnavailable
from onetake.server.transcript import well_formed

TEXT_LIMIT = 10_000
"""Code points of one message from the listener."""

_WellFormed = BeforeValidator(lambda value: well_formed(value) if isinstance(value, str) else value)


class NewReply(BaseModel):
    """A message of the listener's. `conversation` is any id; an unknown one begins a conversation of that
    id. `id` is what the reply is to be called: who chooses it may send the message again and gets the same reply."""

    text: Annotated[str, _WellFormed]
    id: Annotated[str | None, Field(pattern=r"^[A-Za-z0-9_-]{16,100}$")] = None
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

    async def known(id: str) -> Reply:
        return await replies.find(id)

    Known = Annotated[Reply, Depends(known)]  # noqa: N806  (a type)

    @routes.post("/replies", response_class=EventStream)
    async def create(new: NewReply) -> EventStream:
        """Begin a reply and stream its events; Location names it."""
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
        reply = await replies.start(new.text, new.conversation, new.spoken, new.id)
        return EventStream(await reply.events(after=0), location=f"/replies/{reply.id}")

    @routes.get("/replies/{id}/events", response_class=EventStream)
    async def events(reply: Known, last_event_id: Annotated[int, Header(ge=0)] = 0) -> EventStream:
        """The events after `Last-Event-ID`, then live ones until the take ends."""
        return EventStream(await reply.events(last_event_id))

    @routes.post("/replies/{id}/regenerate")
    async def regenerate(reply: Known) -> Generation:
        """Start over: the stream gets `reset`. A reader whose stream had ended opens it again."""
        return Generation(generation=await reply.regenerate())

    @routes.delete("/replies/{id}", status_code=204)
    async def stop(reply: Known) -> None:
        """Write no more: the stream ends with `stopped`."""
        await reply.stop()

    @routes.put("/replies/{id}/heard", status_code=204)
    async def heard(reply: Known, heard: Heard) -> None:
        """Keep only what was heard in the conversation."""
        await reply.heard(heard.at, heard.generation)

    return routes


class EventStream(StreamingResponse):
    """Server-sent events of a reply, with a comment line for each batch that says that there are none.

    Nothing may keep them on the way: neither a cache nor a proxy that gathers what it passes on.
    """

    media_type = "text/event-stream"

    def __init__(self, batches: AsyncIterator[list[LoggedEvent]], location: str | None = None) -> None:
        headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
        if location is not None:
            headers["Location"] = location
        super().__init__(_lines(batches), headers=headers)


async def _lines(batches: AsyncIterator[list[LoggedEvent]]) -> AsyncIterator[str]:
    try:
        async for batch in batches:
            lines = [f"event: {event.name}\ndata: {event.data}\nid: {event.id}\n\n" for event in batch]
            yield "".join(lines) or ": ping\n\n"
    except StoreUnavailable:
        return  # the reader comes back for the rest, and is told if it is still so
