"""The environment of child processes: what Java, Spark and Python need, without secrets."""

from __future__ import annotations

import os
from collections.abc import Iterable
from fnmatch import fnmatchcase

NEEDED = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LANGUAGE", "LC_*", "TZ", "TMPDIR", "TMP", "TEMP"),
    *("XDG_*", "LD_LIBRARY_PATH", "DYLD_*", "SSL_CERT_FILE", "SSL_CERT_DIR", "KRB5_CONFIG", "KRB5CCNAME"),
    *("JAVA_*", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "CLASSPATH", "SPARK_*", "PYSPARK_*", "HADOOP_*", "YARN_*"),
    *("PYTHON*", "VIRTUAL_ENV", "EVERTABLE_CACHE"),
)
"""Names of variables; ``*`` matches any ending."""

PROXIES = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
"""Only for programs that download: a proxy's address may contain a password."""


def child_environment(more: Iterable[str] = (), **own: str) -> dict[str, str]:
    """Returns the variables that children need or ``more`` names, with ``own`` values over them."""
    allowed = (*NEEDED, *more)
    inherited = {
        name: value for name, value in os.environ.items() if any(fnmatchcase(name, pattern) for pattern in allowed)
    }
    return {**inherited, **own}
