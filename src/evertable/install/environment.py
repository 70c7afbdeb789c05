"""The environment of child processes: what Java, Spark and Python need, and none of the secrets beside it."""

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
"""Names of variables; ``*`` stands for any ending."""

PROXIES = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
"""For programs that download; an address of a proxy may hold a password."""


def child_environment(more: Iterable[str] = (), **own: str) -> dict[str, str]:
    """Those of this process's variables that children need or ``more`` names, with ``own`` ones over them."""
    allowed = (*NEEDED, *more)
    inherited = {
        name: value for name, value in os.environ.items() if any(fnmatchcase(name, pattern) for pattern in allowed)
    }
    return {**inherited, **own}
