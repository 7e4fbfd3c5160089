"""How the command line says that a call cannot be carried out as it stands."""

from __future__ import annotations

import click


class Refusal(click.ClickException):
    """One line on standard error, exit status 2."""

    exit_code = 2
