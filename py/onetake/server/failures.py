"""What the listener is told when a reply cannot be written.

    describe(error)     {"code": "model_busy", "message": "The model's …", "retryable": True}
    may_pass(error)     True: it is worth asking the model once more

The words are our own: a provider's may quote a key, a prompt or a whole page of HTML. The log has those. May
be imported by `onetake.server.take` only.
"""

from __future__ import annotations

from typing import Any

from pydantic_ai import exceptions

from onetake.server.store import ReplyTooLong

# The first row that fits counts: (kinds of error, code, message, worth trying again as it is).
_FAILURES: list[tuple[tuple[type[Exception], ...], str, str, bool]] = [
    ((ReplyTooLong,), "reply_too_long", "The reply grew beyond what the server keeps.", False),
    (
        (exceptions.ModelAuthenticationError,),
        "model_auth",
        "The model's provider refused the server's API key. Check the key and its permissions.",
        False,
    ),
    (
        (exceptions.ModelNotFoundError,),
        "model_unknown",
        "The model's provider does not know the model that the server was started with.",
        False,
    ),
    (
        (exceptions.ModelContextWindowExceededError,),
        "conversation_too_long",
        "The conversation is longer than the model can take in. Start a new one.",
        False,
    ),
    (
        (exceptions.ModelQuotaExceededError,),
        "model_quota",
        "The quota at the model's provider is used up. Check the account.",
        False,
    ),
    (
        (exceptions.ModelRateLimitError, exceptions.ModelUnavailableError),
        "model_busy",
        "The model's provider is busy. Try again in a moment.",
        True,
    ),
    (
        (exceptions.ModelConnectionError, exceptions.ModelRequestTimeout, exceptions.RunTimedOut),
        "model_unreachable",
        "The model's provider did not answer in time or the connection broke. Try again.",
        True,
    ),
    (
        (exceptions.ModelRequestRejectedError,),
        "model_refused",
        "The model's provider refused the request; the server's log says why.",
        False,
    ),
    (
        (exceptions.ModelAPIError,),
        "model_error",
        "The model's provider answered with an error; the server's log says which.",
        True,
    ),
]


def may_pass(error: Exception) -> bool:
    """Whether it was the model that failed, in a way that may be over when it is asked again as before."""
    return isinstance(error, exceptions.ModelAPIError) and describe(error)["retryable"] is True


def describe(error: Exception) -> dict[str, Any]:
    """The payload of the `error` event for what ended a run: `code`, `message` (one line), `retryable`."""
    for kinds, code, message, retryable in _FAILURES:
        if isinstance(error, kinds):
            return {"code": code, "message": message, "retryable": retryable}
    return {
        "code": "reply_failed",
        "message": "The reply could not be written to its end; the server's log says why.",
        "retryable": True,
    }
