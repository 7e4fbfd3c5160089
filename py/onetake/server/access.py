"""Who may use the server: pages of its own origin, under its own names, and beyond loopback those with the token.

    app.add_middleware(Access, hosts=["localhost", "127.0.0.1"], token=None)       # on loopback
    app.add_middleware(Access, hosts=None, token=new_token())                      # where others can reach it

A visit to `/?token=…`, the link that is printed, sets a cookie and goes on to `/`; from then on the cookie lets
the browser in. Programs send `Authorization: Bearer …`. It covers every route. Used by `onetake.server.app`.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Collection
from http.cookies import CookieError, SimpleCookie
from urllib.parse import SplitResult, parse_qs, urlsplit

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from onetake.server.errors import ApiError, answer

# Not a redirect: after one that began elsewhere, at a link in a mail, browsers hold a strict cookie back.
_ENTER = '<!doctype html><meta http-equiv="refresh" content="0; url=./"><title>Onetake</title><a href="./">Onetake</a>'
_KEPT_S = 30 * 24 * 3600


def new_token() -> str:
    """A secret that nobody guesses."""
    return secrets.token_urlsafe(24)


class Access:
    """Lets a request through, or answers it with an error.

    `hosts`: the names under which the server may be asked for (DNS rebinding brings others); None: any, since
    beyond loopback a server cannot know its names. A request that names another origin than the host it is
    sent to comes from a page of somebody else. `token`: None where whoever reaches the server may use it.
    """

    def __init__(self, app: ASGIApp, hosts: Collection[str] | None, token: str | None) -> None:
        self._app = app
        self._hosts = hosts
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        response = self._refusal(scope)
        await (response or self._app)(scope, receive, send)

    def _refusal(self, scope: Scope) -> Response | None:
        """What to answer instead of the application; None: let it through."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if self._hosts is not None and _split(f"//{host}").hostname not in self._hosts:
            return answer(ApiError(400, "foreign_host", f"This server is {' or '.join(self._hosts)}, not {host!r}."))
        origin = headers.get("origin")
        if origin is not None and _split(origin).netloc != host:
            return answer(ApiError(403, "foreign_origin", f"Pages of {origin} may not use this server."))
        if self._token is None:
            return None
        if scope["path"] == "/" and self._is_token(_query_token(scope)):
            return self._entrance(scope)
        if self._is_let_in(scope, headers):
            return None
        message = "This server needs its token: open the link that it printed when it started."
        return answer(ApiError(401, "token_required", message))

    def _is_let_in(self, scope: Scope, headers: Headers) -> bool:
        scheme, _, said = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return self._is_token(said.strip())
        try:
            kept = SimpleCookie(headers.get("cookie", "")).get(_cookie_name(scope))
        except CookieError:
            return False
        return kept is not None and self._is_token(kept.value)

    def _is_token(self, said: str) -> bool:
        assert self._token is not None
        return hmac.compare_digest(said.encode(), self._token.encode())

    def _entrance(self, scope: Scope) -> Response:
        assert self._token is not None
        response = HTMLResponse(_ENTER, headers={"cache-control": "no-store"})
        response.set_cookie(
            _cookie_name(scope), self._token, max_age=_KEPT_S, path="/", httponly=True, samesite="strict"
        )
        return response


def _split(address: str) -> SplitResult:
    """The parts of an address; of one that is none, no parts."""
    try:
        return urlsplit(address)
    except ValueError:
        return SplitResult("", "", "", "", "")


def _query_token(scope: Scope) -> str:
    query: bytes = scope["query_string"]
    (token, *_) = parse_qs(query.decode("latin-1")).get("token", [""])
    return token


def _cookie_name(scope: Scope) -> str:
    """One of its own per port: browsers send cookies to every port of a host."""
    return f"onetake-{(scope.get('server') or ('', 0))[1]}"
