"""One shape for every HTTP error: `{"error": {"code", "message", ...}}`.

    raise ApiError(404, "unknown_reply", f"No reply has the id {reply_id!r}.", reply=reply_id)

    app = FastAPI()
    install(app)        # ApiError, bad requests, 404/405 and bugs now all answer in that shape

`code` is for programs and stays stable; `message` is for people. What is unexpected (a bug) is logged by the
server with its traceback and answered without any of it, so that no secret leaves the machine.

May be imported by anything in `onetake.server`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response


class ApiError(Exception):
    """A request that cannot be served, with the status and the body to answer it with.

    `fields` are further members of the error object, next to `code` and `message`: plain JSON values.
    """

    def __init__(self, status: int, code: str, message: str, **fields: Any) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.fields = fields


def install(app: FastAPI) -> None:
    """Make `app` answer every error in the one shape."""
    app.add_exception_handler(ApiError, _api_error)
    app.add_exception_handler(RequestValidationError, _bad_request)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(Exception, _unexpected)


def answer(error: ApiError) -> Response:
    """The response that `error` stands for, where no handler of the application is at work."""
    return _answer(error.status, error.code, error.message, error.fields)


async def _api_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, ApiError)
    return answer(error)


async def _bad_request(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return _answer(422, "bad_request", "; ".join(_complaint(each) for each in error.errors()))


def _complaint(problem: Mapping[str, Any]) -> str:
    """One validation problem in words: where it is and which rule it breaks."""
    where, *path = (str(step) for step in problem["loc"])
    if problem["type"] == "json_invalid":
        return f"{where}: not valid JSON ({problem['ctx']['error']} at character {path[0]})"
    return f"{'.'.join(path) or where}: {problem['msg']}"


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    status = HTTPStatus(error.status_code)
    code = status.name.lower()
    message = f"{request.method} {request.url.path}: {error.detail}."
    return _answer(status, code, message, headers=error.headers)


async def _unexpected(request: Request, error: Exception) -> Response:
    return _answer(500, "internal_error", "The server failed on this request; its log says why.")


def _answer(
    status: int,
    code: str,
    message: str,
    fields: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    # Escaped to ASCII: a message may quote input that holds lone surrogates, which UTF-8 cannot encode.
    body = json.dumps({"error": {"code": code, "message": message, **(fields or {})}})
    return Response(body, status, headers, media_type="application/json")
