"""Replies that no companion gives: the page is answered by a script where it asks the server for these."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

WireEvent = tuple[str, dict[str, Any]]

SCRIPT = """
const replies = %s;
const real = window.fetch;
window.fetch = (url, options) => {
  const begins = options?.method === "POST" && String(url).endsWith("/replies");
  const events = begins && replies[JSON.parse(options.body).text];
  if (!events) return real(url, options);
  const lines = events.map(([event, data], i) =>
    `event: ${event}\\ndata: ${JSON.stringify({ generation: 1, ...data })}\\nid: ${i + 1}\\n\\n`);
  const headers = { "content-type": "text/event-stream", location: "/replies/double" };
  return Promise.resolve(new Response(lines.join(""), { headers }));
};
"""


def answers(replies: Mapping[str, Sequence[WireEvent]]) -> str:
    """A script for `Browser.before_page`: each message gets those events of design 6; all others reach the server."""
    begun = ("start", {"reply": "double", "conversation": "double"})
    return SCRIPT % json.dumps({message: [begun, *events] for message, events in replies.items()})


def two_units(message: str, first: str, second: str) -> str:
    """`answers` with one message whose reply has two units, a tool between them."""
    events = [
        ("delta", {"text": first}),
        ("unit_end", {"at": len(first)}),
        ("tool", {"id": "1", "name": "almanac", "phase": "call", "at": len(first)}),
        ("tool", {"id": "1", "name": "almanac", "phase": "result", "outcome": "ok", "at": len(first)}),
        ("delta", {"text": second}),
        ("final", {"length": len(first + second)}),
    ]
    return answers({message: events})
