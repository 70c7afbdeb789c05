"""``evertable export``: complete files or none, against a real server."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.client.live_server import ADA, BOB, COLUMNS, LiveServer, answering
from tests.waiting import wait_until

from evertable.tables.table import schema_of

EVERTABLE = str(Path(sys.executable).with_name("evertable"))
MANY = [(f"name {i}", *ADA[1:]) for i in range(20_000)]


@pytest.fixture
def server() -> Iterator[LiveServer]:
    made = LiveServer()
    made.people.append(MANY)
    made.start()
    yield made
    made.stop()


def export(url: str, *arguments: str | Path) -> subprocess.CompletedProcess[bytes]:
    command = [EVERTABLE, "export", *arguments]
    return subprocess.run(
        command, env={**os.environ, "EVERTABLE_URL": url}, capture_output=True, timeout=60, check=False
    )


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def rows(table: pa.Table) -> list[tuple[object, ...]]:
    return list(zip(*table.to_pydict().values(), strict=True))


def test_csv(server: LiveServer, tmp_path: Path) -> None:
    """The file has exactly the bytes of the server."""
    expected = httpx.get(f"{server.url}/api/tables/people.csv").content
    target = tmp_path / "people.csv"
    done = export(server.url, "people", "-o", target)
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr.decode().startswith(f"Wrote {target}: 2.")
    assert target.read_bytes() == expected
    piped = export(server.url, "people", "-o", "-")
    assert (piped.returncode, piped.stdout, piped.stderr) == (0, expected, b"")


def test_csv_for_spreadsheets(server: LiveServer, tmp_path: Path) -> None:
    """Formulas are escaped unless ``--raw-formulas`` is given, which is for CSV only."""
    server.people.append([("=1+1", *ADA[1:])])
    for options, shown in (((), b"'=1+1"), (("--raw-formulas",), b"=1+1")):
        done = export(server.url, "people", "-o", "-", "--columns", "name", *options)
        assert (done.returncode, done.stdout.splitlines()[-1]) == (0, shown)
    refused = export(server.url, "people", "-o", tmp_path / "people.arrow", "--raw-formulas")
    assert (refused.returncode, b"[OUTPUT_FAILED]" in refused.stderr) == (1, True)


def test_arrow(server: LiveServer, tmp_path: Path) -> None:
    """The file has the random-access format of Arrow."""
    target = tmp_path / "people.arrow"
    assert export(server.url, "people", "-o", target).returncode == 0
    table = pa.ipc.open_file(target).read_all()
    assert table.schema.equals(schema_of(COLUMNS))
    assert rows(table) == [ADA, BOB, *MANY]


def test_parquet(server: LiveServer, tmp_path: Path) -> None:
    target = tmp_path / "people.parquet"
    assert export(server.url, "people", "-o", target).returncode == 0
    file = pq.ParquetFile(target)
    assert rows(file.read()) == [ADA, BOB, *MANY]
    assert file.num_row_groups == 1


def test_a_view(server: LiveServer, tmp_path: Path) -> None:
    target = tmp_path / "part.CSV"
    shape = ["--columns", "name,age", "--sort", "-name", "--filter", "name <= 'Bob'"]
    assert export(server.url, "people", "-o", target, *shape).returncode == 0
    assert target.read_bytes() == b"name,age\r\nBob,\r\nAda,36\r\n"


def test_an_empty_table(server: LiveServer, tmp_path: Path) -> None:
    for ending in ("csv", "arrow", "parquet"):
        target = tmp_path / f"none.{ending}"
        assert export(server.url, "people", "-o", target, "--filter", "name = '?'").returncode == 0
    assert pq.read_table(tmp_path / "none.parquet").num_rows == 0
    assert pa.ipc.open_file(tmp_path / "none.arrow").read_all().schema.equals(schema_of(COLUMNS))


def test_an_existing_file_is_kept_without_force(server: LiveServer, tmp_path: Path) -> None:
    target = tmp_path / "people.csv"
    target.write_text("mine")
    done = export(server.url, "people", "-o", target)
    assert done.returncode == 1
    assert b"[OUTPUT_FAILED]" in done.stderr
    assert b"--force" in done.stderr
    assert target.read_text() == "mine"
    assert export(server.url, "people", "-o", target, "--force").returncode == 0
    assert target.read_text().startswith("name,age")
    assert names(tmp_path) == ["people.csv"]


@pytest.mark.parametrize(
    ("name", "output", "condition"),
    [
        ("nothing", "x.csv", b"[TABLE_NOT_FOUND]"),
        ("people", "x.xls", b"[OUTPUT_FAILED]"),
        ("people", "no/such/folder/x.csv", b"[OUTPUT_FAILED]"),
        ("people", "folder.csv", b"[OUTPUT_FAILED]"),
        ("people", "folder.csv/file/x.csv", b"[OUTPUT_FAILED]"),
    ],
)
def test_a_failed_export_leaves_no_file(
    server: LiveServer, tmp_path: Path, name: str, output: str, condition: bytes
) -> None:
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "folder.csv" / "file").touch()
    done = export(server.url, name, "-o", tmp_path / output)
    assert done.returncode == 1
    assert done.stderr.startswith(condition)
    assert b"Traceback" not in done.stderr
    assert names(tmp_path) == ["folder.csv"]


@pytest.mark.parametrize("ending", ["csv", "arrow", "parquet"])
def test_a_truncated_download_leaves_no_file(tmp_path: Path, ending: str) -> None:
    """The existing file is not changed."""
    target = tmp_path / f"people.{ending}"
    target.write_text("mine")
    with answering(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nname") as url:
        done = export(url, "people", "-o", target, "--force")
    assert done.returncode == 1
    assert done.stderr.startswith(b"[SERVER_UNREACHABLE]")
    assert names(tmp_path) == [target.name]
    assert target.read_text() == "mine"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_export_leaves_no_file(tmp_path: Path, number: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        command = [EVERTABLE, "export", "people", "-o", str(tmp_path / "people.csv"), "--url", url]
        with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
            connection, _ = listening.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nname\r\n")
                wait_until(lambda: names(tmp_path))
                process.send_signal(number)
                errors = process.communicate(timeout=30)[1]
    assert process.returncode != 0
    assert b"Traceback" not in errors
    assert names(tmp_path) == []
