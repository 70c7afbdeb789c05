"""Names and values that count as secrets."""

from __future__ import annotations

import pytest

from evertable.secrets import suggests_secret


@pytest.mark.parametrize(
    "name",
    [
        "sasl.password",
        "ssl.key.password",
        "ssl.keystore.key",
        "sasl.jaas.config",
        "sasl.oauthbearer.client.secret",
        "basic.auth.user.info",
        "spark.ssl.keyPassword",
        "spark.hadoop.fs.s3a.access.key",
        "KAFKA_PW",
        "DB_PASS",
        "GITHUB_TOKEN",
        "API_KEY",
    ],
)
def test_names_that_suggest_a_secret(name: str) -> None:
    """One of their words is enough, in any case and with any separators."""
    assert suggests_secret(name)


@pytest.mark.parametrize(
    "name",
    [
        "bootstrap.servers",
        "ssl.keystore.location",
        "ssl.key.location",
        "sasl.oauthbearer.token.endpoint.url",
        "sasl.mechanism",
        "monkey.business",
        "ssl.keystore.type",
        "KAFKA_BROKERS",
    ],
)
def test_names_that_do_not(name: str) -> None:
    """Places and kinds of secrets are not secret."""
    assert not suggests_secret(name)
