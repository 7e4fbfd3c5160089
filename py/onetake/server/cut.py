"""`onetake cut`: the units of a reply in a file, as the page would speak them."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from onetake.server.refusal import Refusal
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
@click.argument("file", type=click.Path(allow_dash=True))
@click.option("--ends", type=Ends(), help="Where units end, such as 12,40, besides the end of the reply.")
@click.option("--final/--no-final", default=True, help="Whether the reply is whole: only then its rest is a unit.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
def cut(file: str, ends: list[int] | None, final: bool, as_json: bool) -> None:
    """Print the units of the reply in FILE (- for standard input), one per line: range, emotion and spoken text."""
    cutter = Cutter()
    cutter.feed(_read(file))
    for end in ends or ():
        cutter.end_unit(end)
    if final:
        cutter.finish()
    for unit in cutter.take():
        click.echo(json.dumps(asdict(unit), ensure_ascii=False) if as_json else _line(unit))


def _line(unit: Unit) -> str:
    return f"{unit.start}-{unit.end}\t{unit.emotion or '-'}\t{json.dumps(unit.text, ensure_ascii=False)}"


def _read(file: str) -> str:
    """The text as it stands: line ends are part of it."""
    try:
        content = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        return content.decode("utf-8")
    except OSError as error:
        raise Refusal(f"{file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise Refusal(f"{file} is not UTF-8 (byte {error.start}); convert it first") from None
