"""Kafka's client properties in two dialects: the Java client's, which Spark uses, and librdkafka's.

The configuration uses Java's. librdkafka's names are accepted where they mean the same. ``dialects`` derives the
security properties that one client lacks from those of the other.
"""

from __future__ import annotations


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Accepted but not used, and why.
NOT_USED: dict[str, str] = {
    "group.id": "no consumer group is joined",
    "group.instance.id": "no consumer group is joined",
    "group.protocol": "no consumer group is joined",
    "group.remote.assignor": "no consumer group is joined",
    "partition.assignment.strategy": "no consumer group is joined",
    "enable.auto.commit": "positions are kept in Spark's checkpoints, not committed to Kafka",
    "auto.commit.interval.ms": "positions are kept in Spark's checkpoints, not committed to Kafka",
    "enable.auto.offset.store": "positions are kept in Spark's checkpoints, not committed to Kafka",
    "key.deserializer": "records are read as bytes and parsed by Evertable",
    "value.deserializer": "records are read as bytes and parsed by Evertable",
    "key.serializer": "the changelog has a format of its own",
    "value.serializer": "the changelog has a format of its own",
    "interceptor.classes": "Evertable runs no interceptors",
    "acks": "the changelog is always written with acks=all",
    "enable.idempotence": "the changelog is always written with an idempotent producer",
    "retries": "the changelog is always written with an idempotent producer",
    "max.in.flight.requests.per.connection": "the changelog is always written with an idempotent producer",
    "transactional.id": "the changelog is written without transactions: folding it twice changes nothing",
    "transaction.timeout.ms": "the changelog is written without transactions: folding it twice changes nothing",
}

NOT_PASSED = frozenset({*NOT_USED, "auto.offset.reset"})  # the latter becomes the start of the sources

# Java's name → librdkafka's.
RENAMED: dict[str, str] = {
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "max.request.size": "message.max.bytes",
    "metadata.max.age.ms": "topic.metadata.refresh.interval.ms",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "request.timeout.ms": "socket.timeout.ms",  # librdkafka's request.timeout.ms is about acknowledgements only
    "send.buffer.bytes": "socket.send.buffer.bytes",
}

# Other names of the same property → Java's. Giving both is an error.
SPELLINGS: dict[str, str] = {other: java for java, other in RENAMED.items()} | {
    "auto.commit.enable": "enable.auto.commit",
    "compression.codec": "compression.type",
    "fetch.message.max.bytes": "max.partition.fetch.bytes",
    "max.in.flight": "max.in.flight.requests.per.connection",
    "message.send.max.retries": "retries",
    "message.timeout.ms": "delivery.timeout.ms",
    "metadata.broker.list": "bootstrap.servers",
    "queue.buffering.max.ms": "linger.ms",
    "request.required.acks": "acks",
    "sasl.mechanisms": "sasl.mechanism",
    "sasl.oauthbearer.client.credentials.client.id": "sasl.oauthbearer.client.id",
    "sasl.oauthbearer.client.credentials.client.secret": "sasl.oauthbearer.client.secret",
}

# Same name and meaning in both.
BOTH = _names(
    """allow.auto.create.topics batch.size bootstrap.servers check.crcs client.dns.lookup client.id client.rack
    compression.type connections.max.idle.ms delivery.timeout.ms enable.metrics.push fetch.max.bytes fetch.min.bytes
    heartbeat.interval.ms isolation.level linger.ms max.partition.fetch.bytes max.poll.interval.ms
    metadata.recovery.strategy metadata.recovery.rebootstrap.trigger.ms reconnect.backoff.max.ms reconnect.backoff.ms
    retry.backoff.max.ms retry.backoff.ms session.timeout.ms socket.connection.setup.timeout.ms
    sasl.mechanism sasl.oauthbearer.sub.claim.name sasl.oauthbearer.token.endpoint.url security.protocol
    ssl.key.password"""
)

# Java only: librdkafka lacks it, chooses it itself, or takes it in another form.
JAVA_ONLY = _names(
    """auto.include.jmx.reporter buffer.memory compression.gzip.level compression.lz4.level compression.zstd.level
    config.providers default.api.timeout.ms exclude.internal.topics max.block.ms max.poll.records metadata.max.idle.ms
    metric.reporters metrics.num.samples metrics.recording.level metrics.sample.window.ms
    partitioner.adaptive.partitioning.enable partitioner.availability.timeout.ms partitioner.class
    partitioner.ignore.keys socket.connection.setup.timeout.max.ms
    sasl.client.callback.handler.class sasl.jaas.config sasl.oauthbearer.clock.skew.seconds
    sasl.oauthbearer.expected.audience sasl.oauthbearer.expected.issuer sasl.oauthbearer.header.urlencode
    sasl.oauthbearer.jwks.endpoint.refresh.ms sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms
    sasl.oauthbearer.jwks.endpoint.retry.backoff.ms sasl.oauthbearer.jwks.endpoint.url
    sasl.oauthbearer.metadata.authentication.type sasl.oauthbearer.scope.claim.name security.providers
    ssl.cipher.suites ssl.enabled.protocols ssl.endpoint.identification.algorithm ssl.engine.factory.class
    ssl.keymanager.algorithm ssl.keystore.certificate.chain ssl.keystore.key ssl.keystore.location
    ssl.keystore.password ssl.keystore.type ssl.protocol ssl.provider ssl.secure.random.implementation
    ssl.trustmanager.algorithm ssl.truststore.certificates ssl.truststore.location ssl.truststore.password
    ssl.truststore.type"""
)

# librdkafka only, in the same sense.
LIBRDKAFKA_ONLY = _names(
    """api.version.fallback.ms api.version.request api.version.request.timeout.ms batch.num.messages
    broker.address.family broker.address.ttl broker.version.fallback compression.level debug fetch.error.backoff.ms
    fetch.queue.backoff.ms log.connection.close log_level message.copy.max.bytes queue.buffering.max.kbytes
    queue.buffering.max.messages queued.max.messages.kbytes queued.min.messages receive.message.max.bytes
    reconnect.backoff.jitter.ms socket.keepalive.enable socket.max.fails socket.nagle.disable
    statistics.interval.ms sticky.partitioning.linger.ms topic.metadata.propagation.max.ms
    topic.metadata.refresh.fast.interval.ms topic.metadata.refresh.sparse
    enable.sasl.oauthbearer.unsecure.jwt enable.ssl.certificate.verification https.ca.location https.ca.pem
    sasl.oauthbearer.client.id sasl.oauthbearer.client.secret sasl.oauthbearer.config sasl.oauthbearer.extensions
    sasl.oauthbearer.grant.type sasl.oauthbearer.method sasl.oauthbearer.scope sasl.password sasl.username
    ssl.ca.certificate.stores ssl.ca.location ssl.ca.pem ssl.certificate.location ssl.certificate.pem
    ssl.crl.location ssl.curves.list ssl.key.location ssl.key.pem ssl.sigalgs.list"""
)

SECURITY_FAMILIES = ("sasl.kerberos.", "sasl.login.", "sasl.oauthbearer.assertion.", "sasl.oauthbearer.extensions.")
SECURITY_PREFIXES = ("security.", "sasl.", "ssl.", "https.ca.", "enable.ssl.", "enable.sasl.")

KNOWN = frozenset({*NOT_PASSED, *RENAMED, *SPELLINGS}) | BOTH | JAVA_ONLY | LIBRDKAFKA_ONLY


def is_known(name: str) -> bool:
    return name in KNOWN or name.startswith(SECURITY_FAMILIES)


def is_security(name: str) -> bool:
    return name.startswith(SECURITY_PREFIXES)
