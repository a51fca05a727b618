"""Files in object stores are read like others; messages hide passwords and say where credentials
are.
"""

from __future__ import annotations

import gzip
import io
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.samples import assert_same

import rainproof
from rainproof.cli import main

rng = np.random.default_rng(15)
N = 400
P = rng.random(N).round(4)
P[:3] = 0, 1, 0.5
Y = (rng.random(N) < P).astype(int)
EXPECTED = rainproof.Sample(Y, P).compress()


class Store(BaseHTTPRequestHandler):
    """The least of S3: objects that are listed, described and read in part."""

    objects: dict[str, bytes] = {}  # noqa: RUF012 - one server in the process

    def do_HEAD(self):
        self.answer(False)

    def do_GET(self):
        self.answer(True)

    def answer(self, body):
        path, _, query = self.path.partition("?")
        if "list-type" in query:
            listed = "".join(
                f"<Contents><Key>{k}</Key><Size>{len(v)}</Size></Contents>"
                for k, v in self.objects.items()
            )
            data, code = (
                f"<ListBucketResult><IsTruncated>false</IsTruncated>{listed}</ListBucketResult>".encode(),
                200,
            )
        else:
            data = self.objects.get(path.removeprefix("/bucket/"))
            code = 404 if data is None else 200
        data = data or b""
        part = self.headers.get("Range", "")
        if code == 200 and part:
            first, last = (int(x) for x in part.removeprefix("bytes=").split("-"))
            data, code = data[first : last + 1], 206
        self.send_response(code)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if body:
            self.wfile.write(data)

    def log_message(self, *_):
        pass


@pytest.fixture
def store(monkeypatch):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Store)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    buffer = io.BytesIO()
    pq.write_table(pa.table({"p": P, "y": Y}), buffer)
    rows = "p,y\n" + "".join(f"{p},{y}\n" for p, y in zip(P, Y, strict=True))
    Store.objects = {
        "day/a.parquet": buffer.getvalue(),
        "day/b.csv.gz": gzip.compress(rows.encode()),
        "c.jsonl": b"{}",
    }
    yield f"?endpoint_override=127.0.0.1:{server.server_port}&scheme=http&region=us-east-1"
    server.shutdown()
    server.server_close()


def test_objects_of_a_store(store, capsys):
    for name in ("day/a.parquet", "day/b.csv.gz"):
        assert_same(rainproof.scan(f"s3://key:sesame@bucket/{name}{store}"), EXPECTED)
    assert_same(rainproof.scan(f"s3://key:sesame@bucket/day/*.parquet{store}"), EXPECTED)
    assert (
        main(
            [
                "measure",
                f"s3://key:sesame@bucket/day/b.csv.gz{store}",
                "--prob",
                "p",
                "--outcome",
                "y",
                "--json",
            ]
        )
        == 0
    )
    assert json.loads(capsys.readouterr().out)["file"].startswith(
        "s3://key:***@bucket/day/b.csv.gz?"
    )
    with pytest.raises(
        rainproof.InputError, match=r"^no file matches 's3://key:\*\*\*@bucket/day/\*\.feather"
    ):
        rainproof.scan(f"s3://key:sesame@bucket/day/*.feather{store}")
    with pytest.raises(
        rainproof.InputError, match=r"^s3://key:\*\*\*@bucket/c\.jsonl\S* has no column 'p'"
    ):
        rainproof.scan(f"s3://key:sesame@bucket/c.jsonl{store}")


def test_stores_that_cannot_be_read(store, monkeypatch):
    with pytest.raises(
        rainproof.InputError,
        match=r"^cannot read s3://key:\*\*\*@bucket/gone.* \(credentials are taken",
    ):
        rainproof.scan(f"s3://key:sesame@bucket/gone.parquet{store}")
    closed = "?endpoint_override=127.0.0.1:9&scheme=http&region=us-east-1"
    with pytest.raises(
        rainproof.InputError, match=r"^cannot read s3://.*AWS_ACCESS_KEY_ID"
    ) as caught:
        rainproof.scan(f"s3://key:sesame@bucket/*.parquet{closed}")
    assert "sesame" not in str(caught.value)
    with pytest.raises(
        rainproof.InputError,
        match=r"^cannot read abfs://box/a\.parquet: .*account.* AZURE_CLIENT_ID",
    ):
        rainproof.scan("abfs://box/a.parquet")
