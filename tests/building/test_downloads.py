"""Fetching pictures from a stand-in server: manners, limits, refusals, and going on after a kill."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from signpost_kit.benchmark import download_hosts
from signpost_kit.benchmark.addresses import AddressBook, check_addresses
from signpost_kit.benchmark.downloads import DownloadLimits, download_all
from signpost_kit.errors import ConfigError, DataError

_spec = importlib.util.spec_from_file_location("picture_server", Path(__file__).with_name("picture_server.py"))
picture_server = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(picture_server)


@pytest.fixture
def server(monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    it = picture_server.PictureServer()
    yield it
    it.release.set()
    it.shutdown()
    it.server_close()


class Clock:
    """Notes how long it is asked to wait and returns at once."""

    def __init__(self) -> None:
        self.waits: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.waits.append(seconds)


def fetch(server, folder, paths, clock=None, **limits):
    paths = paths if isinstance(paths, dict) else {path: path for path in paths}
    addresses = {ident: path if "://" in path else server.url + path for ident, path in paths.items()}
    options = {"timeout_s": 5.0, "file_bytes": 200_000, "pixels": 5_000_000} | limits
    found = download_all(
        addresses, folder, limits=DownloadLimits(**options), progress=False, pause=clock or Clock()
    )
    return {item.id: item for item in found}


def files(folder):
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("downloads.sqlite"))


def test_pictures_come_with_safe_names_and_the_suffix_of_what_they_are(server, tmp_path):
    paths = {"45/a.jpg": "/ok/1", "../../../b": "/ok/2", "c.jpg": "/png/3", "45/A.jpg": "/ok/4"}
    got = fetch(server, tmp_path / "in", paths)
    assert all(item.file and not item.reason for item in got.values())
    assert got["c.jpg"].file.endswith(".png")
    assert files(tmp_path / "in") == sorted(item.file for item in got.values())
    assert len({item.file.casefold() for item in got.values()}) == 4  # also where capitals do not matter
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
    assert all(agent.startswith("signpost_kit/") for agent in server.agents)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/404/x", "404 (not found)"),
        ("/410/x", "410 (gone)"),
        ("/403/x", "403 (not allowed)"),
        ("/page/x", "not a picture but a web page"),
        ("/nothing/x", "sends nothing"),
        ("/declared/x", "larger than the limit of 0.2 MB"),
        ("/endless/x", "larger than the limit of 0.2 MB"),
        ("/bomb/x", "4000 x 3000 pixels"),
        ("/gzip/x", "compressed although"),
        ("/to/file:///etc/passwd", "only http:// and https:// are"),
        ("/to/ftp://127.0.0.1/x.jpg", "only http:// and https:// are"),
        ("/round", "redirected more than 5 times"),
        ("/to//photo_unavailable.png", "stand-in"),
        ("file:///etc/passwd", "only http:// and https:// are"),
        ("http://user:secret@127.0.0.1/x.jpg", "name or password"),
        ("http://[::1/x.jpg", "malformed"),
        ("http:///x.jpg", "names no host"),
    ],
)
def test_what_is_refused_says_why_and_leaves_no_file(server, tmp_path, path, reason):
    item = fetch(server, tmp_path, [path])[path]
    assert reason in item.reason
    assert not item.file
    assert "secret" not in item.reason
    assert files(tmp_path) == []
    assert server.asked.total() <= 6


def test_a_redirect_to_a_picture_is_followed(server, tmp_path):
    assert fetch(server, tmp_path, ["/to//ok/x.jpg"])["/to//ok/x.jpg"].file


def test_retry_after_is_kept_and_the_picture_comes(server, tmp_path):
    clock = Clock()
    assert fetch(server, tmp_path, ["/busy/x"], clock)["/busy/x"].file
    assert server.asked["/busy/x"] == 3
    assert len(clock.waits) == 2
    assert all(6.5 < wait <= 7 for wait in clock.waits)


def test_a_day_to_wait_is_not_waited(server, tmp_path):
    clock = Clock()
    item = fetch(server, tmp_path, ["/later/x"], clock)["/later/x"]
    assert "asks to wait 86,400 s" in item.reason
    assert (clock.waits, server.asked["/later/x"]) == ([], 1)


def test_a_failing_server_is_asked_three_times_and_again_in_the_next_run(server, tmp_path):
    clock = Clock()
    for run in (1, 2):
        item = fetch(server, tmp_path, ["/ill/x"], clock)["/ill/x"]
        assert "503, 3 times" in item.reason
        assert server.asked["/ill/x"] == 3 * run
    assert [0.5 < wait < 4 for wait in clock.waits] == [True] * 4


@pytest.mark.parametrize(
    ("path", "reason"), [("/silent/x", "no answer within 0.3 s"), ("/drip/x", "not finished within 0.3 s")]
)
def test_slow_servers_end(server, tmp_path, path, reason):
    start = time.monotonic()
    item = fetch(server, tmp_path, [path], timeout_s=0.3, attempts=2)[path]
    assert reason in item.reason
    assert time.monotonic() - start < 4
    assert files(tmp_path) == []


def test_a_torn_answer_is_tried_again_and_never_kept(server, tmp_path):
    item = fetch(server, tmp_path, ["/torn/x"])["/torn/x"]
    assert "the connection failed" in item.reason
    assert server.asked["/torn/x"] == 3
    assert files(tmp_path) == []


def test_what_is_there_or_gone_is_not_asked_for_again(server, tmp_path):
    paths = ["/ok/1", "/ok/2", "/404/x", "/page/x"]
    first = fetch(server, tmp_path, paths)
    again = fetch(server, tmp_path, paths)
    assert server.asked.total() == 4
    assert [item.kept for item in again.values()] == [True] * 4
    assert [(i.file, i.reason) for i in first.values()] == [(i.file, i.reason) for i in again.values()]
    (tmp_path / first["/ok/1"].file).unlink()  # a file that was deleted is fetched anew
    assert fetch(server, tmp_path, paths)["/ok/1"].file
    assert server.asked["/ok/1"] == 2


def test_a_larger_limit_asks_again(server, tmp_path):
    assert "larger" in fetch(server, tmp_path, ["/ok/x"], file_bytes=100)["/ok/x"].reason
    assert fetch(server, tmp_path, ["/ok/x"])["/ok/x"].file


def test_the_total_is_kept_over_runs(server, tmp_path):
    size = max(len(picture_server.picture(colour)) for colour in range(0, 256, 5))
    paths = [f"/ok/{i}" for i in range(6)]
    got = list(fetch(server, tmp_path, paths[:2], total_bytes=int(2.5 * size)).values())
    assert all(item.file for item in got)
    got = list(fetch(server, tmp_path, paths, total_bytes=int(2.5 * size)).values())
    assert [bool(item.file) for item in got] == [True, True, False, False, False, False]
    assert all("for all downloads is reached; raise source.max_total_mb" in item.reason for item in got[2:])
    assert all(item.file for item in fetch(server, tmp_path, paths).values())


def test_no_more_than_two_at_once_from_one_host(server, tmp_path):
    got = fetch(server, tmp_path, [f"/ok/{i}" for i in range(12)], workers=8, per_host=2)
    assert all(item.file for item in got.values())
    assert server.busiest <= 2


def test_nothing_to_fetch_touches_nothing(tmp_path):
    assert list(download_all({}, tmp_path / "none", progress=False)) == []
    assert not (tmp_path / "none").exists()


def test_a_redirect_from_the_open_net_into_a_private_one_is_refused(monkeypatch):
    monkeypatch.setattr(download_hosts.socket, "getaddrinfo", lambda host, _: [(0, 0, 0, "", (NAMES[host], 0))])
    for target in ("http://127.0.0.1/x", "http://router/x", "//169.254.169.254/latest", "http://localhost:8188/x"):
        with pytest.raises(DataError, match="private network"):
            download_hosts.next_address("https://pictures.example/a", target)
    assert (
        download_hosts.next_address("https://pictures.example/a/b.jpg", "../c.jpg")
        == "https://pictures.example/c.jpg"
    )
    assert download_hosts.next_address("http://router/a", "http://127.0.0.1/x") == "http://127.0.0.1/x"


NAMES = {
    "127.0.0.1": "127.0.0.1",
    "router": "192.168.1.1",
    "169.254.169.254": "169.254.169.254",
    "pictures.example": "8.8.8.8",
}


def test_limits_that_make_no_sense():
    with pytest.raises(ConfigError, match="workers=0"):
        DownloadLimits(workers=0)


def test_a_kill_keeps_what_was_fetched(server, tmp_path):
    code = (
        "import sys\nfrom signpost_kit.benchmark.downloads import *\n"
        "addresses = {f'p{i}': f'{sys.argv[1]}/ok/{i}' for i in range(60)} | {'last': sys.argv[1] + '/silent/x'}\n"
        "limits = DownloadLimits(workers=2, timeout_s=30)\n"
        "for item in download_all(addresses, sys.argv[2], limits=limits, progress=False): pass\n"
    )
    child = subprocess.Popen([sys.executable, "-c", code, server.url, str(tmp_path)])
    deadline = time.monotonic() + 60
    while server.asked.total() < 20 and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    before = server.asked.copy()
    assert 20 <= before.total() < 61
    addresses = {f"p{i}": f"{server.url}/ok/{i}" for i in range(60)}
    got = list(download_all(addresses, tmp_path, limits=DownloadLimits(workers=2), progress=False))
    assert all(item.file for item in got)
    assert sum(item.kept for item in got) >= before.total() - 4  # but those that were under way
    assert [name for name in files(tmp_path) if not name.startswith(".")] == sorted(item.file for item in got)


# -- lists of addresses ----------------------------------------------------------------------------------------------


def book(tmp_path, text):
    path = tmp_path / "urls.txt"
    path.write_text(text)
    return AddressBook(path)


@pytest.mark.parametrize(
    "text",
    [
        "id,url\na.jpg,https://h.example/1.jpg\nb/c.jpg,http://h.example/2\nd,not an address\n",
        "\ufeffphoto_id;owner;download_url\r\na;x;https://h.example/1.jpg\r\nb/c;x;http://h.example/2\r\n",
        "a,https://h.example/1.jpg\nb/c,http://h.example/2\n",
    ],
)
def test_forms_of_a_list_of_addresses(tmp_path, text):
    found = book(tmp_path, text)
    assert found.find(["a.jpg", "b/c.jpg", "d", "e"]) == {
        "a.jpg": "https://h.example/1.jpg",
        "b/c.jpg": "http://h.example/2",
    }
    assert sorted(found.missing(["a.jpg", "d", "b/c.jpg", "e"])) == [1, 3]


def test_one_address_a_line(tmp_path):
    found = book(
        tmp_path, "# mine\nhttps://h.example/x/322%38_a.jpg?size=l\n\nhttps://h.example/x/7.png\nnonsense\n"
    )
    assert found.find(["3228_a.jpg", "7"]) == {
        "3228_a.jpg": "https://h.example/x/322%38_a.jpg?size=l",
        "7": "https://h.example/x/7.png",
    }
    assert (found.rows, found.no_address) == (3, 1)


def test_no_addresses(tmp_path):
    with pytest.raises(DataError, match="no address that begins"):
        book(tmp_path, "id,url\na,ftp://x\n")
    with pytest.raises(DataError, match="no address that begins"):
        check_addresses(tmp_path / "urls.txt")
    with pytest.raises(DataError, match="does not exist"):
        check_addresses(tmp_path / "none.csv")
