"""`onetake cut`: the units of a reply in a file, as the page would speak them."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from onetake.server.refusal import Refusal
from onetake.streams import PROTOCOLS, Delta, Failed, Final, Reset, Stopped, UnitEnd, open_adapter
from onetake.units import Cutter, Unit


class Ends(click.ParamType[list[int]]):
    """Code-point offsets, separated by commas."""

    name = "offsets"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[int]:
        ends = []
        for part in str(value).split(","):
            if not part.strip().isdecimal():
                raise Refusal(f"--ends {value}: {part.strip()!r} is no code-point offset; write it like --ends 12,40")
            ends.append(int(part))
        return ends


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(allow_dash=True))
@click.option("--ends", type=Ends(), help="Where units end, such as 12,40, besides the end of the reply.")
@click.option("--final/--no-final", default=True, help="Whether the reply is whole: only then its rest is a unit.")
@click.option("--protocol", type=click.Choice(PROTOCOLS), help="FILE is a recorded stream, which says all that itself.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
@click.pass_context
def cut(
    context: click.Context,
    files: tuple[str, ...],
    ends: list[int] | None,
    final: bool,
    protocol: str | None,
    as_json: bool,
) -> None:
    """Print the units of the reply in FILE (- for standard input), one per line: range, emotion and spoken text.

    With --protocol, FILE is the recorded body of a response; a turn over several responses is several of them,
    in order. What keeps the reply from being whole is said on standard error, and the exit status is then 1.
    """
    if protocol and (ends or not final):
        raise Refusal("--ends and --no-final are for plain text; with --protocol the stream says where units end")
    if not protocol and len(files) > 1:
        raise Refusal(f"{files[1]}: a plain reply is one file; several are a turn's responses, which need --protocol")
    cutter = Cutter()
    trouble = _replay(protocol, files, cutter) if protocol else None
    if not protocol:
        cutter.feed(_text(files[0]))
        for end in ends or ():
            cutter.end_unit(end)
        if final:
            cutter.finish()
    for unit in cutter.take():
        click.echo(json.dumps(asdict(unit), ensure_ascii=False) if as_json else _line(unit))
    if trouble:
        click.echo(trouble, err=True)
        context.exit(1)


def _replay(protocol: str, files: Sequence[str], cutter: Cutter) -> str | None:
    """Feed a turn to the cutter; what keeps it from being whole, if anything."""
    adapter = open_adapter(protocol)
    trouble = None
    for file in files:
        for event in [*adapter.feed(_bytes(file)), *adapter.end_response()]:
            match event:
                case Delta(text):
                    cutter.feed(text)
                case UnitEnd(at):
                    cutter.end_unit(at)
                case Reset(at):
                    cutter.reset(at)
                    trouble = None
                case Final():
                    cutter.finish()
                case Stopped(length):
                    trouble = f"stopped by the listener at {length}"
                case Failed(code, message):
                    trouble = f"{code}: {message}"
    if adapter.awaiting:
        return "the reply goes on in another response: give its file too"
    if not adapter.ended:
        return "the stream breaks off before the reply is complete"
    return trouble


def _line(unit: Unit) -> str:
    return f"{unit.start}-{unit.end}\t{unit.emotion or '-'}\t{json.dumps(unit.text, ensure_ascii=False)}"


def _text(file: str) -> str:
    """The text as it stands: line ends are part of it."""
    try:
        return _bytes(file).decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refusal(f"{file} is not UTF-8 (byte {error.start}); convert it first") from None


def _bytes(file: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise Refusal(f"{file} cannot be read: {error.strerror}") from None
