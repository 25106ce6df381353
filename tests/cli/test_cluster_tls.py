"""A cluster behind TLS: who has the files of its CA comes in, and who has others hears why not."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tracearena.engine import Cluster, block_ranges, run_blocks, use
from tracearena.errors import ClusterError

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def certificate(folder: Path, name: str, ca: Any = None) -> Any:
    """Write a key and a certificate, signed by a CA or, as one, by itself."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now, day = datetime.datetime.now(datetime.UTC), datetime.timedelta(days=1)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if ca is None else ca[1].subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - day)
        .not_valid_after(now + day)
        .add_extension(x509.BasicConstraints(ca=ca is None, path_length=None), critical=True)
        .sign(key if ca is None else ca[0], hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    form, plain = serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    (folder / f"{name}.pem").write_bytes(made.public_bytes(pem))
    (folder / f"{name}.key").write_bytes(key.private_bytes(pem, form, plain))
    return key, made


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Our CA with a certificate for us, and another CA with one for a stranger."""
    folder = tmp_path_factory.mktemp("tls")
    certificate(folder, "ours", certificate(folder, "our-ca"))
    certificate(folder, "stranger", certificate(folder, "other-ca"))
    return folder


@pytest.fixture(scope="module")
def address(files: Path) -> Iterator[str]:
    """A scheduler with a worker that speak TLS only."""
    distributed = pytest.importorskip("distributed")
    ours = {f"tls_{who}_cert": str(files / "ours.pem") for who in ("scheduler", "worker", "client")}
    ours |= {f"tls_{who}_key": str(files / "ours.key") for who in ("scheduler", "worker", "client")}
    security = distributed.Security(tls_ca_file=str(files / "our-ca.pem"), require_encryption=True, **ours)
    with distributed.LocalCluster(
        n_workers=1, processes=False, protocol="tls://", security=security, dashboard_address="127.0.0.1:0"
    ) as scheduler:
        yield scheduler.scheduler_address


@pytest.fixture
def settings(files: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Name the files in Dask's settings for one test."""
    import dask

    def name(ca: str, who: str) -> None:
        own = {"cert": str(files / f"{who}.pem"), "key": str(files / f"{who}.key")}
        tls = dask.config.config["distributed"]["comm"]["tls"]
        monkeypatch.setitem(tls, "ca-file", str(files / f"{ca}.pem"))
        monkeypatch.setitem(tls, "client", own)

    return name


def test_who_has_the_files_works_there(address: str, settings: Any) -> None:
    settings("our-ca", "ours")
    with Cluster(address) as cluster, use(cluster=cluster):
        assert cluster.workers[0].startswith("tls://")
        assert run_blocks(lambda block, first, stop: first, block_ranges(3, 1), anywhere=True) == [0, 1, 2]


def test_a_command_works_there(address: str, settings: Any, run: Any, team: Path) -> None:
    settings("our-ca", "ours")
    asked = ("--reference", team / "ref.csv", "--original", team / "org.csv", "--defences", "No", "--seed", 1)
    done = run("sweep", team / "t.csv", "--places", team / "places.csv", *asked, "--cluster", address)
    assert done.status == 0, done.err
    assert "1 worker with" in done.err


def test_another_ca_is_refused_by_us(address: str, settings: Any, run: Any, team: Path) -> None:
    settings("other-ca", "ours")
    asked = ("--reference", team / "ref.csv", "--original", team / "org.csv", "--defences", "No")
    done = run("sweep", team / "t.csv", "--places", team / "places.csv", *asked, "--cluster", address)
    assert done.status == 2
    assert f"the certificate of {address} is not signed by" in done.err
    assert "other-ca.pem" in done.err


def test_a_strangers_certificate_is_refused_by_them(address: str, settings: Any) -> None:
    settings("our-ca", "stranger")
    with pytest.raises(ClusterError, match=r"does not accept our certificate .*stranger\.pem"):
        Cluster(address)


def test_without_the_files_their_settings_are_named(address: str, settings: Any) -> None:
    with pytest.raises(ClusterError, match="DASK_DISTRIBUTED__COMM__TLS__CA_FILE"):
        Cluster(address)
    settings("no-ca", "ours")
    with pytest.raises(ClusterError, match=r"no-ca\.pem, .* is not a file"):
        Cluster(address)


def test_a_file_that_is_no_certificate_is_named(address: str, settings: Any, files: Path) -> None:
    (files / "words.pem").write_text("not a certificate\n")
    settings("words", "ours")
    with pytest.raises(ClusterError, match=r"words\.pem, from .* has no certificate"):
        Cluster(address)


def test_plain_tcp_is_refused(address: str) -> None:
    with pytest.raises(ClusterError, match="if it uses TLS, write tls://"):
        Cluster(address.replace("tls://", "tcp://"))
