"""The command line: `onetake` serves the page and the API.

    onetake --port 8000 --no-browser --model anthropic:claude-opus-4-8
    onetake cut reply.md --ends 12,40
"""

from __future__ import annotations

import ipaddress
import socket
import webbrowser
from collections.abc import Sequence

import click

from onetake.errors import UsageError
from onetake.server.cut import cut
from onetake.server.refusal import Refusal
from onetake.server.replay import replay
from onetake.server.speech.engine import Engine

LOOPBACK_NAMES = ["localhost", "127.0.0.1", "[::1]"]


@click.group(invoke_without_command=True)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8600, show_default=True, type=click.IntRange(0, 65535), help="0: any free one.")
@click.option("--no-browser", is_flag=True, help="Do not open the page in a browser.")
@click.option("--model", help="Who writes the replies, as pydantic-ai names it. Without: a scripted companion.")
@click.option("--voice", help="Id of the voice that speaks. Without: the first one there is.")
@click.version_option(package_name="onetake")
@click.pass_context
def main(
    context: click.Context, host: str, port: int, no_browser: bool, model: str | None, voice: str | None
) -> None:
    """Onetake gives a streaming chat reply one continuous voice. Without a command it serves the page and the API."""
    if context.invoked_subcommand is not None:
        return
    # Here, since they take seconds to import, which other commands need not wait for.
    from onetake.server.agents import build_agent
    from onetake.server.app import create_app
    from onetake.server.serving import serve
    from onetake.server.speech import open_engines

    engines, missing = open_engines()
    for line in missing:
        click.echo(line, err=True)
    try:
        _check_voice(voice, engines)
        app = create_app(
            build_agent(model), engines, model=model or "scripted", voice=voice, hosts=_hosts(host)
        )
        listening = _listen(host, port)
    except UsageError as error:
        raise Refusal(str(error)) from None
    address = _address(host, listening.getsockname()[1])
    click.echo(f"Onetake is at {address}")
    if not no_browser:
        webbrowser.open(address)
    serve(app, listening)


main.add_command(cut)
main.add_command(replay)


def _check_voice(voice: str | None, engines: Sequence[Engine]) -> None:
    known = [each.id for engine in engines for each in engine.voices]
    if voice is not None and voice not in known:
        raise UsageError(f"there is no voice {voice!r}; there is: {', '.join(known) or 'none, install onetake[local]'}")


def _listen(host: str, port: int) -> socket.socket:
    """A socket bound to that address; in use, or not ours: UsageError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        reason = error.strerror or str(error)
        how = "choose another with --port or --host"
        raise UsageError(f"cannot listen on {host} port {port}: {reason}; {how}") from None


def _hosts(host: str) -> list[str]:
    """The names under which requests may come: beyond loopback, any."""
    return LOOPBACK_NAMES if _is_loopback(host) else ["*"]


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _address(host: str, port: int) -> str:
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


if __name__ == "__main__":
    main()
