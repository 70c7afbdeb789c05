"""``docs/CONFIGURATION.md``, generated from the models (``python -m evertable.config.reference`` prints it).

A test holds the file to this text, so a key cannot be added without its line.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from enum import Enum

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from evertable.config.environment import PREFIX
from evertable.config.loading import FILE, VARIABLE, places_searched
from evertable.config.structure import ANY, PROPERTIES, Path, fields, holds_names, sections_of
from evertable.kafka import property_names
from evertable.properties import Properties
from evertable.schema.columns import RECORD_FIELD_KINDS, Kind

INTRO = f"""# Configuration

*Generated from the models by `python -m evertable.config.reference > docs/CONFIGURATION.md`: do not edit it here.*

One YAML file, `{FILE}`; [`examples/evertable.yaml`](../examples/evertable.yaml) is a whole one. Only `kafka` and
`sources` are required. `evertable check FILE` prints what is in effect, secrets masked, or every problem with its path
and line (exit code 2). Unknown keys are errors.

If no file is named, these are tried in turn: {{places}}.
Where `{VARIABLE}` is set, only the file that it names. Without any file the environment may say everything.

## Values

- A value is the text that stands there, and its key decides what it means: `no`, `1.10` or `0123` need no quotes to
  stay what they are, as values and as names of columns. A null (`~`, or nothing) means the default. A key that is
  given twice is an error. Anchors and `<<` work.
- `${{VAR}}` is the environment variable's value, `${{VAR:-default}}` has a default for when it is empty or not set, and
  `${{file:path}}` is a file's text without its last line end, the path relative to the configuration's folder. `$${{`
  is a plain `${{`. What comes in is text: it is never read as YAML, nor expanded again. Inside `{{…}}` and `[…]` quotes
  are needed: `{{topic: "${{TOPIC}}"}}`.
- What comes from a file, or from a variable whose name suggests a secret (password, secret, token, key …), is masked
  wherever the configuration is shown, and so is every property whose name suggests one.
- **Environment twins**: every value can be set by a variable, which wins over the file. `__` stands between the parts
  of the path: `{PREFIX}ENGINE__TRIGGER`, `{PREFIX}SOURCES__USERS__TOPIC`. Names of sources and columns are matched
  whatever their case; new ones are taken in lower case. In properties (`kafka`, `engine.spark`) `_` stands for the
  dot: `{PREFIX}KAFKA__BOOTSTRAP_SERVERS`, `{PREFIX}KAFKA__SASL_PASSWORD`; a property with capitals in its name, if
  the file does not have it, is written as it is: `{PREFIX}ENGINE__SPARK__spark_driver_extraJavaOptions`. An empty
  variable counts as not set.
"""

TYPES = {
    Kind.STRING: "a JSON string",
    Kind.BOOLEAN: "`true` or `false`",
    Kind.INT: "a whole number of 32 bits",
    Kind.LONG: "a whole number of 64 bits",
    Kind.FLOAT: "a number, kept with 32 bits; no key",
    Kind.DOUBLE: "a number, kept with 64 bits; no key",
    Kind.DECIMAL: "a number or a string that fits exactly; `p` digits (at most 38), `s` of them after the point",
    Kind.DATE: "an ISO-8601 date in a string",
    Kind.TIMESTAMP: "an ISO-8601 time with its zone in a string, or milliseconds since 1970",
    Kind.JSON: "anything, as normalised JSON text; no key",
}

KAFKA = """## Kafka properties

`kafka` takes any client property once, in Kafka's (Java) names, with dots or nested. Spark gets it in Java's dialect,
the changelog's reader in librdkafka's. What a source's own `kafka` or `changelog.kafka` says goes over it. One that
names other `bootstrap.servers` means another cluster, and is not told the security properties (`security.`, `sasl.`,
`ssl.`) of the first.

`auto.offset.reset` (earliest, latest) becomes the `start` of the sources that do not say their own.
`sasl.username` and `sasl.password` are enough for PLAIN and SCRAM: Java's `sasl.jaas.config` is made from them, and the
other way round. PEM works for both clients: `ssl.truststore.certificates`, `ssl.keystore.key` and
`ssl.keystore.certificate.chain` with `${file:…}`, or `ssl.ca.location`. Java's own stores (JKS) reach Spark only.

These are accepted, because people paste them, and not used; `evertable check` says so:
"""


def reference() -> str:
    """The whole page."""
    places = [f"`{place}`" for place in places_searched({"XDG_CONFIG_HOME": "$XDG_CONFIG_HOME"})]
    return "\n".join([INTRO.replace("{places}", ", ".join(places)), *_sections(), *_columns(), *_kafka()])


def _sections() -> Iterator[str]:
    yield "## Keys\n"
    listed = [(path, info) for path, info in fields() if path != ("sources", ANY, "name")]
    yield "### At the top\n"
    yield from _keys((path, info) for path, info in listed if len(path) == 1)
    for path, info in listed:
        for model, below in sections_of(info.annotation):
            at = (*path, *below)
            doc = (model.__doc__ or "").splitlines()[0]
            yield f"### `{_shown(at)}`\n\n{doc}\n"
            yield from _keys((inner, field) for inner, field in listed if inner[:-1] == at)


def _keys(keys: Iterable[tuple[Path, FieldInfo]]) -> Iterator[str]:
    rows = [(f"`{path[-1]}`", info.description or "", _default(info), _twin(path, info)) for path, info in keys]
    yield from _table(("key", "what", "default", "environment"), rows)


def _default(info: FieldInfo) -> str:
    if isinstance(info.json_schema_extra, dict) and "default" in info.json_schema_extra:
        return str(info.json_schema_extra["default"])
    if info.default is PydanticUndefined:
        return "" if info.default_factory else "required"
    if info.default is None:
        return "null"
    if info.default == "" or list(sections_of(info.annotation)):
        return ""
    value = info.default.value if isinstance(info.default, Enum) else info.default
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return "`{}`" if isinstance(value, Properties) else f"`{value}`"


def _twin(path: Path, info: FieldInfo) -> str:
    if list(sections_of(info.annotation)):
        return ""
    name = PREFIX + "__".join("<NAME>" if part == ANY else part.upper() for part in path)
    if path in PROPERTIES:
        return f"`{name}__…`"
    if holds_names(info.annotation):
        return f"`{name}__<NAME>`"
    if isinstance(info.json_schema_extra, dict) and "twin" in info.json_schema_extra:
        return f"`{info.json_schema_extra['twin']}`, `{name}`"
    return f"`{name}__<COLUMN>`" if path[-1] == "columns" else f"`{name}`"


def _shown(path: Path) -> str:
    return ".".join("<name>" if part == ANY else part for part in path)


def _columns() -> Iterator[str]:
    yield "## Column types\n"
    yield "A value of another JSON type makes the record a reject; nothing is guessed. Missing fields are null.\n"
    rows = [(f"`{kind}(p,s)`" if kind is Kind.DECIMAL else f"`{kind}`", TYPES[kind]) for kind in Kind]
    yield from _table(("type", "takes"), rows)
    yield "A column may come from the Kafka record itself; the type follows: `ts: {from: kafka.timestamp}`.\n"
    yield from _table(("from", "type"), [(f"`{part}`", f"`{kind}`") for part, kind in RECORD_FIELD_KINDS.items()])


def _kafka() -> Iterator[str]:
    yield KAFKA
    yield from _table(("property", "why"), [(f"`{name}`", why) for name, why in property_names.NOT_USED.items()])
    yield "These have another name in librdkafka; either is understood:\n"
    rows = [(f"`{java}`", f"`{other}`", note) for java, (other, note) in property_names.RENAMED.items()]
    yield from _table(("Java", "librdkafka", "what"), rows)
    yield "These reach Spark only: " + ", ".join(f"`{name}`" for name in sorted(property_names.JAVA_ONLY)) + ".\n"
    only = ", ".join(f"`{name}`" for name in sorted(property_names.LIBRDKAFKA_ONLY))
    yield f"These reach the changelog's reader only: {only}.\n"
    yield "Any other name goes to Spark as it is, with a warning."
    yield ""


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    lines = [head, ("---",) * len(head), *rows]
    yield "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(reference())
