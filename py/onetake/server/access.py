"""Who may use the server: pages of its own origin and of those it allows, and beyond loopback those with the token.

    app.add_middleware(Access, hosts=["localhost", "127.0.0.1"], token=None)       # on loopback
    app.add_middleware(Access, hosts=None, token=new_token())                      # where others can reach it
    app.add_middleware(Access, hosts=None, token=new_token(), origins=["https://chat.example"])

A visit to `/?token=…`, the link that is printed, sets a cookie and goes on to `/`; from then on the cookie lets
the browser in, on the server's own page. Programs and pages of other origins send `Authorization: Bearer …`. It
covers every route but those of `PUBLIC`, which are code that anybody may read. Used by `onetake.server.app`.
"""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Collection
from http.cookies import CookieError, SimpleCookie
from urllib.parse import SplitResult, parse_qs, urlsplit

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from onetake.errors import UsageError
from onetake.server.errors import ApiError, answer

#: What a page of another origin loads before it can show a token: a path, or with a slash at its end all below it.
PUBLIC = ("/health", "/onetake.js", "/onetake.d.ts", "/web/", "/wheels/")

# Not a redirect: after one that began elsewhere, at a link in a mail, browsers hold a strict cookie back.
_ENTER = '<!doctype html><meta http-equiv="refresh" content="0; url=./"><title>Onetake</title><a href="./">Onetake</a>'
_KEPT_S = 30 * 24 * 3600

_USUAL_PORTS = {"http": 80, "https": 443}
_HOST = re.compile(r"[a-z0-9_.-]+|\[[0-9a-f:.]+\]")


def new_token() -> str:
    """A secret that nobody guesses."""
    return secrets.token_urlsafe(24)


def checked_origin(origin: str) -> str:
    """An origin as browsers send it; raises UsageError for anything else, saying what to write."""
    parts = _split(origin)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or ""
    if parts.scheme not in _USUAL_PORTS or not _HOST.fullmatch(host):
        raise UsageError(
            f"{origin!r} cannot be allowed: an origin is http:// or https:// and one host, and a port if it is not "
            "the usual one, such as https://chat.example or http://localhost:5173"
        )
    port = "" if parts.port in (None, _USUAL_PORTS[parts.scheme]) else f":{parts.port}"
    if origin != (as_sent := f"{parts.scheme}://{host}{port}"):
        raise UsageError(f"{origin!r} is no origin as browsers send it: write {as_sent}")
    return origin


class Access:
    """Lets a request through, or answers it with an error.

    `hosts`: the names under which the server may be asked for (DNS rebinding brings others); None: any, since
    beyond loopback a server cannot know its names. A request that names another origin than the host it is
    sent to comes from a page of somebody else: `origins` are those whose pages may use the server all the same.
    `token`: None where whoever reaches the server may use it.
    """

    def __init__(
        self, app: ASGIApp, hosts: Collection[str] | None, token: str | None, origins: Collection[str] = ()
    ) -> None:
        self._hosts = hosts
        self._origins = origins
        self._app = app if token is None else _Gate(app, token)
        if origins:  # before the gate: a page is to read why it was refused, and asks beforehand without a token
            self._app = CORSMiddleware(
                self._app,
                allow_origins=origins,
                allow_methods=["GET", "POST", "PUT", "DELETE"],
                allow_headers=["Authorization", "Content-Type", "Last-Event-ID"],
                expose_headers=["Location", "X-Uncompressed-Length"],
                allow_private_network=True,
            )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._refusal(Headers(scope=scope)) if scope["type"] in ("http", "websocket") else None
        await (refusal or self._app)(scope, receive, send)

    def _refusal(self, headers: Headers) -> Response | None:
        """What to answer instead of the application; None: let it through."""
        host = headers.get("host", "")
        if self._hosts is not None and _split(f"//{host}").hostname not in self._hosts:
            return answer(ApiError(400, "foreign_host", f"This server is {' or '.join(self._hosts)}, not {host!r}."))
        origin = _foreign_origin(headers)
        if origin is None or origin in self._origins:
            return None
        how = f"To let them, start it with --allow-origin {origin}"
        return answer(ApiError(403, "foreign_origin", f"Pages of {origin} may not use this server. {how}"))


class _Gate:
    """Lets those through who have the token, and everyone to what is public."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = self._refusal(scope) if scope["type"] in ("http", "websocket") else None
        await (response or self._app)(scope, receive, send)

    def _refusal(self, scope: Scope) -> Response | None:
        """What to answer instead of the application; None: let it through."""
        headers = Headers(scope=scope)
        if scope["path"] == "/" and self._is_token(_query_token(scope)):
            return self._entrance(scope)
        if _is_public(scope["path"]) or self._is_let_in(scope, headers):
            return None
        message = "This server needs its token: open the link that it printed when it started."
        if _foreign_origin(headers) is not None:
            message = "This server needs its token, which is in the link that it printed: pass it as `token`."
        return answer(ApiError(401, "token_required", message))

    def _is_let_in(self, scope: Scope, headers: Headers) -> bool:
        scheme, _, said = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return self._is_token(said.strip())
        if _foreign_origin(headers) is not None:
            return False  # the cookie says that the browser was let in, not that this page was given the token
        try:
            kept = SimpleCookie(headers.get("cookie", "")).get(_cookie_name(scope))
        except CookieError:
            return False
        return kept is not None and self._is_token(kept.value)

    def _is_token(self, said: str) -> bool:
        return hmac.compare_digest(said.encode(), self._token.encode())

    def _entrance(self, scope: Scope) -> Response:
        response = HTMLResponse(_ENTER, headers={"cache-control": "no-store"})
        response.set_cookie(
            _cookie_name(scope), self._token, max_age=_KEPT_S, path="/", httponly=True, samesite="strict"
        )
        return response


def _is_public(path: str) -> bool:
    return any(path == public or (public.endswith("/") and path.startswith(public)) for public in PUBLIC)


def _foreign_origin(headers: Headers) -> str | None:
    """The origin of the page that asks, if it is not the server's own."""
    origin = headers.get("origin")
    return None if origin is None or _split(origin).netloc == headers.get("host", "") else origin


def _split(address: str) -> SplitResult:
    """The parts of an address; of one that is none, no parts."""
    try:
        parts = urlsplit(address)
        _ = parts.port  # which is read, and may be none, only here
        return parts
    except ValueError:
        return SplitResult("", "", "", "", "")


def _query_token(scope: Scope) -> str:
    query: bytes = scope["query_string"]
    (token, *_) = parse_qs(query.decode("latin-1")).get("token", [""])
    return token


def _cookie_name(scope: Scope) -> str:
    """One of its own per port: browsers send cookies to every port of a host."""
    return f"onetake-{(scope.get('server') or ('', 0))[1]}"
