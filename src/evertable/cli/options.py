"""Options and arguments that several commands share, and what is opened with them."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from evertable.client.client import Client
    from evertable.config import KafkaProperties

SWAP_TIMEOUT_S = 300.0

ConfigFile = Annotated[
    Path | None,
    typer.Argument(metavar="CONFIG", help="The configuration; default: evertable.yaml.", show_default=False),
]
ConfigFileOption = Annotated[Path | None, typer.Option("--config", help="The configuration; default: evertable.yaml.")]
Kafka = Annotated[
    str | None, typer.Option("--kafka", metavar="HOST:PORT", help="The broker; default: that of evertable.yaml.")
]
Prefix = Annotated[
    str | None, typer.Option("--prefix", help="Prefix of the topics' names; default: that of evertable.yaml.")
]
Url = Annotated[
    str | None,
    typer.Option("--url", envvar="EVERTABLE_URL", show_default="http://127.0.0.1:10000", help="The server's address."),
]
TokenFile = Annotated[
    Path | None, typer.Option("--token-file", help="File with the server's token; default: EVERTABLE_TOKEN.")
]
Ca = Annotated[Path | None, typer.Option("--ca", help="PEM file to check the server's certificate with.")]
Table = Annotated[str, typer.Argument(metavar="TABLE", help="The table's public name.")]
Columns = Annotated[str, typer.Option("--columns", help="Columns, separated by commas; default: all.")]
Sort = Annotated[str, typer.Option("--sort", help="Columns to sort by, - for descending order: -balance,name")]
Filter = Annotated[str, typer.Option("--filter", help="Filter for rows: \"balance > 100 and name contains 'a'\"")]
Wait = Annotated[bool, typer.Option("--wait/--no-wait", help="Return when the swap is live, or when it was sent.")]
Timeout = Annotated[float, typer.Option("--timeout", min=0, help="Seconds to wait; 0: no limit.")]


def open_client(url: str | None, token_file: Path | None, ca: Path | None) -> Client:
    """Opens a client for ``--url``, ``--token-file`` and ``--ca``; from now on, SIGTERM has the effect of Ctrl-C."""
    from evertable.client.address import DEFAULT_URL, read_token
    from evertable.client.client import Client

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    return Client(url or DEFAULT_URL, read_token(token_file), ca=ca)


def names_in(text: str) -> list[str] | None:
    """Splits ``--columns`` or ``--sort``; None if it was left out."""
    return text.split(",") if text else None


@dataclass(frozen=True)
class Clusters:
    """The Kafka clusters of the commands ``apps`` and ``forget``, and the prefix of their topics."""

    own: KafkaProperties
    """The cluster with states and changelogs."""
    control: KafkaProperties
    """The cluster with control topics."""
    prefix: str

    @classmethod
    def from_options(cls, kafka: str | None, config_file: Path | None, prefix: str | None) -> Clusters:
        """Returns the cluster at ``--kafka`` or, without it, those of the configuration."""
        from evertable.config import KafkaProperties, load
        from evertable.config.names import PREFIX

        if kafka:
            properties = KafkaProperties.of({"bootstrap.servers": kafka})
            return cls(properties, properties, prefix or PREFIX)
        config = load(config_file)
        return cls(config.changelog_kafka, config.kafka, prefix or config.changelog.prefix)

    @property
    def address(self) -> str:
        """The address of the cluster with states and changelogs."""
        return str(self.own.for_librdkafka().get("bootstrap.servers", ""))
