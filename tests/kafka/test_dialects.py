"""Logins and certificates in both dialects."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from hypothesis import given
from hypothesis import strategies as st

from evertable.kafka.jaas import OAUTH_MODULE, PLAIN_MODULE, SCRAM_MODULE, line, parse
from evertable.kafka.oauth import HANDLER, OLD_HANDLER
from evertable.kafka.properties import KafkaProperties

Texts = dict[str, str]

LOGIN = {"sasl.username": "me", "sasl.password": "pw"}
SASL = {"security.protocol": "SASL_SSL"}
TLS = {"security.protocol": "SSL"}
ENDPOINT = {"sasl.oauthbearer.token.endpoint.url": "https://id.example/token"}
CLIENT = {"sasl.oauthbearer.client.id": "me", "sasl.oauthbearer.client.secret": "s"}
OAUTH = SASL | {"sasl.mechanism": "OAUTHBEARER"} | ENDPOINT | CLIENT
JAVA_OAUTH = SASL | {"sasl.mechanism": "OAUTHBEARER", "sasl.login.callback.handler.class": HANDLER} | ENDPOINT
OIDC = OAUTH | {"sasl.oauthbearer.method": "oidc"}


def both(given: Texts) -> tuple[Texts, Texts]:
    kafka = KafkaProperties.parse(given)
    return kafka.for_java(), kafka.for_librdkafka()


def warnings(given: Texts) -> list[str]:
    kafka = KafkaProperties.parse(given)
    dialects = kafka.dialects()
    assert dialects.refusals == []
    return [str(message) for message in (*kafka.warnings(), *dialects.warnings)]


def refusals(given: Texts) -> list[str]:
    return [str(message) for message in KafkaProperties.parse(given).dialects().refusals]


@pytest.mark.parametrize(("mechanism", "module"), [("PLAIN", PLAIN_MODULE), ("SCRAM-SHA-512", SCRAM_MODULE)])
@pytest.mark.parametrize("spelled", ["sasl.mechanism", "sasl.mechanisms"])
def test_a_name_and_a_password(spelled: str, mechanism: str, module: str) -> None:
    """librdkafka gets them unchanged; Java gets a login module."""
    java, librdkafka = both({"security.protocol": "sasl_ssl", **LOGIN, spelled: mechanism.lower()})
    shared = SASL | {"sasl.mechanism": mechanism}
    assert shared | {"sasl.jaas.config": f'{module} required username="me" password="pw";'} == java
    assert shared | LOGIN == librdkafka


def test_a_login_module() -> None:
    """Java gets it unchanged; librdkafka gets its name and password."""
    text = f"{PLAIN_MODULE} required\n  serviceName=kafka username='it''s' password=\"a\\\"b\\\\\";"
    assert parse(text) == (PLAIN_MODULE, {"serviceName": "kafka", "username": "it", "password": 'a"b\\'})
    java, librdkafka = both({**SASL, "sasl.mechanism": "PLAIN", "sasl.jaas.config": text})
    assert SASL | {"sasl.mechanism": "PLAIN", "sasl.jaas.config": text} == java
    assert librdkafka == SASL | {"sasl.mechanism": "PLAIN", "sasl.username": "it", "sasl.password": 'a"b\\'}


@given(st.text(), st.text())
def test_any_password_survives(username: str, password: str) -> None:
    """Quotes, backslashes and line ends are escaped as Java reads them."""
    text = line(PLAIN_MODULE, {"username": username, "password": password})
    assert parse(text) == (PLAIN_MODULE, {"username": username, "password": password})
    assert "\n" not in text
    assert "\r" not in text


def test_client_credentials_of_existing_files() -> None:
    """Java's spellings and librdkafka's in one section, the old package included; each client gets its own."""
    given = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.login.callback.handler.class": OLD_HANDLER,
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.token.endpoint.url": "https://id.example/token",
        "sasl.oauthbearer.client.id": "me",
        "sasl.oauthbearer.client.secret": 'a"b',
        "sasl.oauthbearer.scope": "kafka read",
        "sasl.oauthbearer.sub.claim.name": "azp",
        "sasl.oauthbearer.extensions.logicalCluster": "lkc-1",
        "sasl.oauthbearer.extensions.identityPoolId": "pool-2",
        "ssl.endpoint.identification.algorithm": "HTTPS",
        "https.ca.location": "/ca",
    }
    java, librdkafka = both(given)
    assert warnings(given) == []
    options = 'clientId="me" clientSecret="a\\"b" scope="kafka read" extension_logicalCluster="lkc-1" '
    options += 'extension_identityPoolId="pool-2" ssl.truststore.type="PEM" ssl.truststore.location="/ca"'
    assert java == JAVA_OAUTH | {
        "sasl.jaas.config": f"{OAUTH_MODULE} required {options};",
        "sasl.oauthbearer.sub.claim.name": "azp",
        "ssl.endpoint.identification.algorithm": "HTTPS",
    }
    assert librdkafka == OIDC | {
        "sasl.oauthbearer.client.secret": 'a"b',
        "sasl.oauthbearer.scope": "kafka read",
        "sasl.oauthbearer.sub.claim.name": "azp",
        "sasl.oauthbearer.extensions": "logicalCluster=lkc-1,identityPoolId=pool-2",
        "ssl.endpoint.identification.algorithm": "https",
        "https.ca.location": "/ca",
    }


@pytest.mark.parametrize(
    "given",
    [
        OAUTH,
        OIDC,
        OAUTH | {"sasl.login.callback.handler.class": HANDLER},
        OAUTH | {"sasl.jaas.config": f"{OAUTH_MODULE} required;"},
        {
            **{name: text for name, text in OAUTH.items() if name not in CLIENT},
            "sasl.oauthbearer.client.credentials.client.id": "me",
            "sasl.oauthbearer.client.credentials.client.secret": "s",
        },
        SASL
        | ENDPOINT
        | {"sasl.mechanism": "OAUTHBEARER"}
        | {"sasl.jaas.config": f'{OAUTH_MODULE} required clientId="me" clientSecret="s";'},
    ],
)
def test_equivalent_sections(given: Texts) -> None:
    """A method, a handler or a line that repeat the default may be left out, or be the only one."""
    java, librdkafka = both(given)
    assert JAVA_OAUTH | {"sasl.jaas.config": f'{OAUTH_MODULE} required clientId="me" clientSecret="s";'} == java
    assert librdkafka == OIDC
    assert warnings(given) == []


def test_a_login_module_with_everything_in_it() -> None:
    """A file for Java's clients may have it: librdkafka gets scope, extensions and the endpoint's authority."""
    options = {"clientId": "me", "clientSecret": "s", "scope": "x", "extension_logicalCluster": "lkc-1"}
    text = line(OAUTH_MODULE, options | {"ssl.truststore.type": "PEM", "ssl.truststore.location": "/ca"})
    given = SASL | ENDPOINT | {"sasl.mechanism": "OAUTHBEARER", "sasl.jaas.config": text}
    java, librdkafka = both(given)
    assert JAVA_OAUTH | {"sasl.jaas.config": text} == java
    expected = {"sasl.oauthbearer.scope": "x", "sasl.oauthbearer.extensions": "logicalCluster=lkc-1"}
    assert OIDC | expected | {"https.ca.location": "/ca"} == librdkafka


@pytest.mark.parametrize("extensions", ["logicalCluster=lkc-1, identityPoolId=a=b", None])
def test_extensions_in_one_text_or_one_by_one(extensions: str | None) -> None:
    one_by_one = {"logicalCluster": "lkc-1", "identityPoolId": "a=b"}
    family = "sasl.oauthbearer.extensions"
    given = {family: extensions} if extensions else {f"{family}.{name}": text for name, text in one_by_one.items()}
    java, librdkafka = both(OAUTH | given)
    assert librdkafka[family] == "logicalCluster=lkc-1,identityPoolId=a=b"
    _, options = parse(java["sasl.jaas.config"])
    assert {f"extension_{name}": text for name, text in one_by_one.items()}.items() <= options.items()
    assert not any(name.startswith(family) for name in java)


def test_librdkafka_accepts_its_properties() -> None:
    """The real client refuses unknown properties."""
    tokens = OAUTH | {"sasl.oauthbearer.extensions.logicalCluster": "lkc-1", "https.ca.pem": "C"}
    for kafka in (tokens, SASL | LOGIN | {"sasl.mechanism": "SCRAM-SHA-512"}):
        quiet: dict[str, Any] = {"log_level": 0, "error_cb": lambda error: None}
        AdminClient({**KafkaProperties.parse(kafka).for_librdkafka(), **quiet})


@pytest.mark.parametrize(
    ("given", "java", "librdkafka"),
    [
        (
            {"ssl.ca.location": "/ca"},
            {"ssl.truststore.type": "PEM", "ssl.truststore.location": "/ca"},
            {"ssl.ca.location": "/ca"},
        ),
        (
            {"ssl.ca.pem": "C"},
            {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": "C"},
            {"ssl.ca.pem": "C"},
        ),
        (
            {"ssl.truststore.certificates": "C"},
            {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": "C"},
            {"ssl.ca.pem": "C"},
        ),
        (
            {"ssl.truststore.type": "pem", "ssl.truststore.location": "/ca"},
            {"ssl.truststore.type": "pem", "ssl.truststore.location": "/ca"},
            {"ssl.ca.location": "/ca"},
        ),
        (
            {"ssl.truststore.location": "/jks", "ssl.truststore.password": "p", "ssl.ca.location": "/ca"},
            {"ssl.truststore.location": "/jks", "ssl.truststore.password": "p"},
            {"ssl.ca.location": "/ca"},
        ),
        (
            {"ssl.keystore.key": "K", "ssl.keystore.certificate.chain": "C", "ssl.key.password": "p"},
            {
                "ssl.keystore.type": "PEM",
                "ssl.keystore.key": "K",
                "ssl.keystore.certificate.chain": "C",
                "ssl.key.password": "p",
            },
            {"ssl.key.pem": "K", "ssl.certificate.pem": "C", "ssl.key.password": "p"},
        ),
        (
            {"ssl.key.pem": "K", "ssl.certificate.pem": "C"},
            {"ssl.keystore.type": "PEM", "ssl.keystore.key": "K", "ssl.keystore.certificate.chain": "C"},
            {"ssl.key.pem": "K", "ssl.certificate.pem": "C"},
        ),
        (
            {"ssl.keystore.type": "PEM", "ssl.keystore.location": "/me"},
            {"ssl.keystore.type": "PEM", "ssl.keystore.location": "/me"},
            {"ssl.key.location": "/me", "ssl.certificate.location": "/me"},
        ),
        (
            {"ssl.keystore.type": "PKCS12", "ssl.keystore.location": "/me", "ssl.keystore.password": "p"},
            {"ssl.keystore.type": "PKCS12", "ssl.keystore.location": "/me", "ssl.keystore.password": "p"},
            {"ssl.keystore.location": "/me", "ssl.keystore.password": "p"},
        ),
        (
            {"ssl.endpoint.identification.algorithm": ""},
            {"ssl.endpoint.identification.algorithm": ""},
            {"ssl.endpoint.identification.algorithm": "none"},
        ),
        (
            {"ssl.endpoint.identification.algorithm": "none"},
            {"ssl.endpoint.identification.algorithm": ""},
            {"ssl.endpoint.identification.algorithm": "none"},
        ),
    ],
)
def test_certificates(given: Texts, java: Texts, librdkafka: Texts) -> None:
    """PEM works for both, in each one's properties; what is for one client only is not translated."""
    assert (TLS | java, TLS | librdkafka) == both(TLS | given)
    assert warnings(TLS | given) == []


def test_a_key_and_a_certificate_in_two_files() -> None:
    """librdkafka reads them; Java reads the values from the files, so that no key is in Spark's options."""
    given = {**TLS, "ssl.key.location": "/etc/my/key.pem", "ssl.certificate.location": "cert.pem"}
    java, librdkafka = both({**given, "config.providers": "own", "config.providers.own.class": "x"})
    assert librdkafka == given
    assert java == TLS | {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": "${evertable:/etc/my:key.pem}",
        "ssl.keystore.certificate.chain": "${evertable:.:cert.pem}",
        "config.providers": "own,evertable",
        "config.providers.own.class": "x",
        "config.providers.evertable.class": "org.apache.kafka.common.config.provider.DirectoryConfigProvider",
    }


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"ssl.ca.location": "/ca"}, "has no effect with security.protocol PLAINTEXT; set it to SSL or SASL_SSL"),
        ({"sasl.username": "me"}, "sasl.username: has no effect with security.protocol PLAINTEXT; set it to SASL_SSL"),
        ({**TLS, "enable.ssl.certificate.verification": "false"}, "Spark always verifies certificates"),
        ({**SASL, **LOGIN, "sasl.mechanism": "PLAIN", **ENDPOINT}, "without sasl.mechanism OAUTHBEARER"),
        ({**OAUTH, "enable.sasl.oauthbearer.unsecure.jwt": "true"}, "unsecure.jwt: has no effect"),
        ({**OAUTH, "sasl.oauthbearer.scop": "x"}, "did you mean 'sasl.oauthbearer.scope'"),
    ],
)
def test_what_has_no_effect(given: Texts, message: str) -> None:
    """A warning reports it."""
    assert [message in warning for warning in warnings(given)] == [True]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {**TLS, "ssl.truststore.location": "/my.jks"},
            "only Java reads JKS files; use ssl.ca.location, a PEM file",
        ),
        ({**TLS, "ssl.keystore.location": "/jks"}, "only Java reads JKS files; use PKCS12 (ssl.keystore.type) or PEM"),
        (
            {**TLS, "ssl.key.location": "/a:b/k", "ssl.certificate.location": "/c"},
            "ssl.key.location: must not contain",
        ),
        ({"security.protocol": "TLS"}, "'TLS' is none of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"),
        (SASL, "sasl.mechanism: is missing: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER"),
        ({**SASL, "sasl.mechanism": "GSSAPI"}, "'GSSAPI' is not supported; PLAIN, SCRAM-SHA-256"),
        (
            {**SASL, "sasl.mechanism": "PLAIN", "sasl.username": "me"},
            "sasl.password: is missing; PLAIN logs in",
        ),
        (
            {**SASL, "sasl.mechanism": "PLAIN", "sasl.jaas.config": f"{SCRAM_MODULE} required username=a password=b;"},
            f"sasl.jaas.config: must be of {PLAIN_MODULE} with username and password; or use sasl.username",
        ),
        (
            {**OAUTH, "sasl.jaas.config": f"{PLAIN_MODULE} required username=a password=b;"},
            f"sasl.jaas.config: must be of {OAUTH_MODULE} with sasl.mechanism OAUTHBEARER",
        ),
        ({k: v for k, v in OAUTH.items() if k not in ENDPOINT}, "sasl.oauthbearer.token.endpoint.url: is missing"),
        ({k: v for k, v in OAUTH.items() if not k.endswith("secret")}, "sasl.oauthbearer.client.secret: is missing"),
        ({**OAUTH, "sasl.oauthbearer.extensions.logical_cluster": "x"}, "'logical_cluster' is not an extension's name"),
        ({**OAUTH, "sasl.oauthbearer.extensions.a": "x,y"}, "must not contain a comma"),
        ({**OAUTH, "sasl.oauthbearer.assertion.algorithm": "RS256"}, "is not supported: tokens are requested with"),
        ({**OAUTH, "sasl.oauthbearer.grant.type": "urn:x"}, "grant.type: must be client_credentials"),
        ({**OAUTH, "sasl.login.callback.handler.class": "com.example.Mine"}, f"must be {HANDLER}, or left out"),
        (
            {
                **{k: v for k, v in OAUTH.items() if k not in CLIENT},
                "sasl.jaas.config": f"{OAUTH_MODULE} required clientId=a clientSecret=b ssl.truststore.location=/jks;",
            },
            "a trust store for the token endpoint that only Java can read; add https.ca.location, a PEM file",
        ),
    ],
)
def test_what_cannot_be_used(given: Texts, message: str) -> None:
    """One sentence names the property and the alternative, without secrets."""
    assert [message in refusal for refusal in refusals(given)] == [True]
