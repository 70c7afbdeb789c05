"""Logins and certificates in both dialects."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evertable.config.kafka_properties import KafkaProperties
from evertable.config.kafka_security import PLAIN_MODULE, SCRAM_MODULE, jaas, parse_jaas

Texts = dict[str, str]

LOGIN = {"sasl_username": "me", "sasl_password": "pw"}


def both(**given: str) -> tuple[Texts, Texts]:
    kafka = KafkaProperties.parse({name.replace("_", "."): value for name, value in given.items()})
    return kafka.for_java(), kafka.for_librdkafka()


def remarks(**given: str) -> list[str]:
    kafka = KafkaProperties.parse({name.replace("_", "."): value for name, value in given.items()})
    return [str(remark) for remark in kafka.remarks()]


@pytest.mark.parametrize(("mechanism", "module"), [("PLAIN", PLAIN_MODULE), ("SCRAM-SHA-512", SCRAM_MODULE)])
@pytest.mark.parametrize("spelled", ["sasl_mechanism", "sasl_mechanisms"])
def test_a_name_and_a_password(spelled: str, mechanism: str, module: str) -> None:
    """librdkafka takes them as they are; Java gets a login module."""
    java, librdkafka = both(security_protocol="SASL_SSL", **LOGIN, **{spelled: mechanism})
    shared = {"security.protocol": "SASL_SSL", "sasl.mechanism": mechanism}
    assert shared | {"sasl.jaas.config": f'{module} required username="me" password="pw";'} == java
    assert shared | {"sasl.username": "me", "sasl.password": "pw"} == librdkafka


def test_a_login_module() -> None:
    """Java takes it as it is; librdkafka gets the name and the password in it."""
    line = f"{PLAIN_MODULE} required\n  serviceName=kafka username='it''s' password=\"a\\\"b\\\\\";"
    assert parse_jaas(line) == ("it", 'a"b\\')
    java, librdkafka = both(sasl_mechanism="PLAIN", sasl_jaas_config=line)
    assert {"sasl.mechanism": "PLAIN", "sasl.jaas.config": line} == java
    assert librdkafka == {"sasl.mechanism": "PLAIN", "sasl.username": "it", "sasl.password": 'a"b\\'}


@given(st.text(), st.text())
def test_any_password_survives(username: str, password: str) -> None:
    """Quotes, backslashes and line ends are escaped as Java reads them."""
    line = jaas("PLAIN", username, password)
    assert (username, password) == parse_jaas(line)
    assert "\n" not in line
    assert "\r" not in line


def test_what_is_not_translated_yet() -> None:
    """It reaches the side that knows it, and a warning names the other."""
    line = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;"
    java, librdkafka = both(sasl_mechanism="OAUTHBEARER", sasl_jaas_config=line)
    assert {"sasl.mechanism": "OAUTHBEARER", "sasl.jaas.config": line} == java
    assert librdkafka == {"sasl.mechanism": "OAUTHBEARER"}
    expected = [
        "sasl.jaas.config: the changelog's reader understands PLAIN and SCRAM login modules only",
        "sasl.mechanism: OAUTHBEARER goes to Spark as it is, and not yet to the changelog's reader",
    ]
    assert expected == remarks(sasl_mechanism="OAUTHBEARER", sasl_jaas_config=line)
    assert remarks(**LOGIN) == [
        "sasl.username: Spark can use it with sasl.mechanism PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 only"
    ]


@pytest.mark.parametrize(
    ("given", "java", "librdkafka"),
    [
        (
            {"ssl_ca_location": "/ca"},
            {"ssl.truststore.type": "PEM", "ssl.truststore.location": "/ca"},
            {"ssl.ca.location": "/ca"},
        ),
        (
            {"ssl_ca_pem": "C"},
            {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": "C"},
            {"ssl.ca.pem": "C"},
        ),
        (
            {"ssl_truststore_certificates": "C"},
            {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": "C"},
            {"ssl.ca.pem": "C"},
        ),
        (
            {"ssl_truststore_type": "pem", "ssl_truststore_location": "/ca"},
            {"ssl.truststore.type": "pem", "ssl.truststore.location": "/ca"},
            {"ssl.ca.location": "/ca"},
        ),
        (
            {"ssl_truststore_location": "/jks", "ssl_truststore_password": "p", "ssl_ca_location": "/ca"},
            {"ssl.truststore.location": "/jks", "ssl.truststore.password": "p"},
            {"ssl.ca.location": "/ca"},
        ),
        (
            {"ssl_keystore_key": "K", "ssl_keystore_certificate_chain": "C", "ssl_key_password": "p"},
            {
                "ssl.keystore.type": "PEM",
                "ssl.keystore.key": "K",
                "ssl.keystore.certificate.chain": "C",
                "ssl.key.password": "p",
            },
            {"ssl.key.pem": "K", "ssl.certificate.pem": "C", "ssl.key.password": "p"},
        ),
        (
            {"ssl_key_pem": "K", "ssl_certificate_pem": "C"},
            {"ssl.keystore.type": "PEM", "ssl.keystore.key": "K", "ssl.keystore.certificate.chain": "C"},
            {"ssl.key.pem": "K", "ssl.certificate.pem": "C"},
        ),
        (
            {"ssl_keystore_type": "PEM", "ssl_keystore_location": "/me"},
            {"ssl.keystore.type": "PEM", "ssl.keystore.location": "/me"},
            {"ssl.key.location": "/me", "ssl.certificate.location": "/me"},
        ),
        (
            {"ssl_keystore_type": "PKCS12", "ssl_keystore_location": "/me", "ssl_keystore_password": "p"},
            {"ssl.keystore.type": "PKCS12", "ssl.keystore.location": "/me", "ssl.keystore.password": "p"},
            {"ssl.keystore.location": "/me", "ssl.keystore.password": "p"},
        ),
        (
            {"ssl_endpoint_identification_algorithm": ""},
            {"ssl.endpoint.identification.algorithm": ""},
            {"ssl.endpoint.identification.algorithm": "none"},
        ),
        (
            {"ssl_endpoint_identification_algorithm": "none"},
            {"ssl.endpoint.identification.algorithm": ""},
            {"ssl.endpoint.identification.algorithm": "none"},
        ),
    ],
)
def test_certificates(given: Texts, java: Texts, librdkafka: Texts) -> None:
    """PEM for both, in each one's words; what was said for one side alone stays there."""
    assert (java, librdkafka) == both(**given)
    assert remarks(**given) == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"ssl_truststore_location": "/jks"}, "reads no JKS file; add ssl.ca.location"),
        ({"ssl_keystore_location": "/jks"}, "reads no JKS file; use PKCS12 or PEM"),
        ({"ssl_key_location": "/k", "ssl_certificate_location": "/c"}, "Spark reads no key and certificate from two"),
        ({"enable_ssl_certificate_verification": "false"}, "Spark always verifies certificates"),
    ],
)
def test_what_one_side_cannot_use(given: Texts, said: str) -> None:
    """A warning says what to use instead."""
    assert [said in remark for remark in remarks(**given)] == [True]
