"""Real engines for the tests, each started once and only if a test asks for it."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from contextlib import closing
from pathlib import Path

import pytest

MISSING = "the tests need {}: `make test` installs it, or on Debian: apt-get install {}"


@pytest.fixture(scope="session")
def spark():
    """A session of two threads in this process; quiet, and without a port that anyone else sees."""
    if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        pytest.fail(MISSING.format("Java", "default-jre-headless"))
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        # Each query runs once, on few rows: to compile it takes longer than to interpret it.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.adaptive.enabled": "false",
        "spark.log.level": "OFF",
        "spark.sql.session.timeZone": "UTC",
    }
    session = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="session")
def postgresql():
    """Yield the address of a server that runs as long as the tests, with a socket in its own
    folder.
    """
    places = os.pathsep.join(
        [os.environ.get("PATH", ""), *map(str, Path("/usr/lib/postgresql").glob("*/bin"))]
    )
    initdb, pg_ctl = (shutil.which(program, path=places) for program in ("initdb", "pg_ctl"))
    if initdb is None or pg_ctl is None:
        pytest.fail(MISSING.format("PostgreSQL's server", "postgresql"))
    user = _user()
    # Not pytest's folder, which the server's user may not enter; and short, as sockets have short
    # names.
    folder = Path(tempfile.mkdtemp(prefix="rainproof-pg-", dir="/tmp"))
    shutil.chown(folder, user)
    data = folder / "data"

    def run(*command):
        done = subprocess.run(
            command, user=user, cwd=folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr

    try:
        run(initdb, "-D", data, "-U", "rainproof", "-A", "trust", "-E", "UTF8", "--no-sync")
        log = folder / "log"
        run(
            pg_ctl,
            "start",
            "-w",
            "-t",
            "240",
            "-D",
            data,
            "-l",
            log,
            "-o",
            f"-F -k {folder} -c listen_addresses=''",
        )
        try:
            yield f"postgresql:///postgres?host={folder}&user=rainproof"
        finally:
            run(pg_ctl, "stop", "-w", "-m", "immediate", "-D", data)
    finally:
        shutil.rmtree(folder)


def _user():
    """Return the user that runs the server, which refuses to run as root."""
    if os.getuid() != 0:
        return os.getuid()
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


@pytest.fixture
def postgresql_connection(postgresql):
    import psycopg

    with closing(psycopg.connect(postgresql, autocommit=True)) as connection:
        yield connection
