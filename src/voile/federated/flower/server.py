"""The server's side of a Flower app: a ServerApp that trains over a channel."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from voile.errors import MissingExtra, SettingError
from voile.federated.flower.channel import FlowerChannel

try:
    from flwr.app import Context
    from flwr.serverapp import Grid, ServerApp
except ImportError:
    raise MissingExtra("flwr", "federated") from None

if TYPE_CHECKING:
    from voile.privacy.clients.channel import Channel

_TIMEOUT, _JOIN_TIMEOUT = 60.0, 120.0


def server_app(train: Callable[[Channel, Context], None]) -> ServerApp:
    """A ServerApp that waits for the clients and then calls ``train``.

    Parameters
    ----------
    train : callable
        Given the channel and Flower's context; what it returns is not used.

    Notes
    -----
    Read from the app's configuration: ``clients`` (how many take part, needed), ``timeout`` and
    ``join-timeout`` (seconds), ``authenticated`` (whether names stay with their keys).
    """
    app = ServerApp()

    @app.main()
    def main(grid: Grid, context: Context) -> None:
        train(open_channel(grid, context), context)

    return app


def open_channel(grid: Grid, context: Context) -> FlowerChannel:
    """The channel that the app's configuration describes."""
    config = context.run_config
    clients = config.get("clients")
    if not isinstance(clients, int):
        raise SettingError(
            "The app's configuration does not say how many clients take part: set clients in "
            "[tool.flwr.app.config] or with --run-config 'clients=4'."
        )
    return FlowerChannel(
        grid,
        clients=clients,
        timeout=_seconds(config.get("timeout", _TIMEOUT), "timeout"),
        join_timeout=_seconds(config.get("join-timeout", _JOIN_TIMEOUT), "join-timeout"),
        authenticated=bool(config.get("authenticated", False)),
    )


def _seconds(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise SettingError(f"{name} is {value!r} in the app's configuration: give seconds.")
    return float(value)
