"""Keys: where they are found, what is said about damaged ones, and that they are never shown."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from signpost_kit.errors import ModelError
from signpost_kit.models import keys
from signpost_kit.models.keys import find_key, has_key, key_source, looks_like_key, redact

NAME = "SOMEBODY_API_KEY"
GOOD = "sk-Abc123def456ghi789_-XYZ"


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of its own as the working directory, and no keys known from elsewhere."""
    (tmp_path / "params").mkdir()
    (tmp_path / "notebooks").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(NAME, raising=False)
    monkeypatch.setattr(keys, "_known", set())
    return tmp_path


def complaint(value: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv(NAME, value)
    with pytest.raises(ModelError) as caught:
        find_key(NAME)
    assert caught.value.__cause__ is None
    message = str(caught.value)
    assert NAME in message
    assert "\n" not in message
    return message


@pytest.mark.parametrize("value", [GOOD, f"  {GOOD}\n", f'"{GOOD}"', f"'{GOOD}'\r\n", f'" {GOOD} "'])
def test_spaces_and_straight_quotes_around_it_come_off(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NAME, value)
    assert find_key(NAME) == GOOD
    assert (has_key(NAME), key_source(NAME)) == (True, "environment")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (f"“{GOOD}”", "typographic quotation marks"),
        (f"‘{GOOD}’", "typographic quotation marks"),
        (f"«{GOOD}»", "typographic quotation marks"),
        (f'"{GOOD}', "at one end only"),
        (f"{GOOD}'", "at one end only"),
        (f"Bearer {GOOD}", "begins with 'Bearer'"),
        (f"bearer {GOOD}", "begins with 'Bearer'"),
        (f"{NAME}={GOOD}", "holds its own name again"),
        (f"{GOOD[:9]} {GOOD[9:]}", "a space in the middle"),
        (f"{GOOD[:9]}\n{GOOD[9:]}", "a line break in the middle"),
        (f"{GOOD[:9]}\u200b{GOOD[9:]}", "an invisible character"),
        (f"\ufeff{GOOD}", "an invisible character"),
        (GOOD.replace("A", "А"), "a letter outside ASCII"),  # a Cyrillic A
    ],
)
def test_what_happens_in_copying_is_told_and_the_key_is_not(
    value: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    message = complaint(value, monkeypatch)
    assert words in message
    assert GOOD[:9] not in message
    assert GOOD[9:] not in message
    assert not has_key(NAME)


@pytest.mark.parametrize(
    "value",
    [
        "your-api-key",
        "YOUR_API_KEY_HERE",
        "<your key>",
        "<sk-123>",
        "sk-...",
        "sk-xxxxxxxxxxxx",
        "xxxx",
        "changeme",
        "todo",
        "...",
        "****",
        "insert-openai-api-key-here",
        "my_secret_key",
        "$OPENAI_API_KEY",
        "${OPENAI_API_KEY}",
        "none",
        "sk-1234567890",
    ],
)
def test_placeholders(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "a placeholder, not a key" in complaint(value, monkeypatch)


@pytest.mark.parametrize(
    "value",
    [
        GOOD,
        "AIzaSyA1b2C3d4E5f6G7h8I9j0KlMnOpQrStUvW",
        "xai-keykeykeykey1",
        "EMPTY",
        "key-a1b2c3d4e5f6",
        "token-abc123",
    ],
)
def test_real_keys_are_no_placeholders(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NAME, value)
    assert find_key(NAME) == value


def test_missing_and_empty_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelError, match=rf"{NAME} is not set: put the key into the environment .* \.env"):
        find_key(NAME)
    assert (has_key(NAME), has_key(None), key_source(NAME)) == (False, True, "")
    assert "is empty" in complaint("  ", monkeypatch)
    assert "is empty" in complaint('""', monkeypatch)


def test_a_near_miss_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NAME.lower(), GOOD)
    with pytest.raises(ModelError, match=f"{NAME.lower()} is set: is that the one"):
        find_key(NAME)
    monkeypatch.setenv("GOOGLE_API_KEY", GOOD)
    with pytest.raises(ModelError, match="GOOGLE_API_KEY is set: is that the one") as caught:
        find_key("GEMINI_API_KEY")
    assert GOOD not in str(caught.value)


def test_dotenv_of_the_folder_then_of_the_project(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (place / ".env").write_text(
        f"\ufeff# keys\n\nOTHER=1\nexport {NAME} = '{GOOD}'   # for the paper\n#{NAME}=old\n", encoding="utf-8"
    )
    below = place / "notebooks" / "learn"
    below.mkdir()
    monkeypatch.chdir(below)
    assert find_key(NAME) == GOOD
    assert key_source(NAME) == str(place / ".env")
    (below / ".env").write_text(f"{NAME}=nearer-key-123456  # comment\n")
    assert find_key(NAME) == "nearer-key-123456"
    monkeypatch.setenv(NAME, "from-environment-1")
    assert find_key(NAME) == "from-environment-1"
    monkeypatch.setenv(NAME, "")  # an empty variable does not hide the file
    assert find_key(NAME) == "nearer-key-123456"


def test_dotenv_with_a_byte_order_mark_before_the_name(place: Path) -> None:
    (place / ".env").write_bytes(b"\xef\xbb\xbf" + f"{NAME}={GOOD}\r\n".encode())
    assert find_key(NAME) == GOOD


def test_a_faulty_dotenv_names_the_file(place: Path) -> None:
    (place / ".env").write_text(f"{NAME}=“{GOOD}”\n", encoding="utf-8")
    with pytest.raises(ModelError, match=re.escape(str(place / ".env"))) as caught:
        find_key(NAME)
    assert GOOD not in str(caught.value)
    (place / ".env").write_bytes(b"\xff\xfe\x00bad")
    with pytest.raises(ModelError, match="not UTF-8"):
        find_key(NAME)


def test_redact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NAME, GOOD)
    monkeypatch.setenv("UNRELATED_SECRET", "p4ssw0rd/with+signs==")
    monkeypatch.setenv("SOME_KEY", "short")
    find_key(NAME)
    monkeypatch.delenv(NAME)  # a key stays known after it is gone from the environment
    assert redact(f"401 for {GOOD}!") == "401 for [key]!"
    assert redact("x p4ssw0rd/with+signs== y p4ssw0rd%2Fwith%2Bsigns%3D%3D") == "x [key] y [key]"
    assert redact("a short word") == "a short word"
    for text in (
        "Authorization: Bearer abcdef123456",
        "{'x-api-key': 'abcdef123456'}",
        "https://host/v1?alt=sse&key=abcdef123456",
        'api_key="abcdef123456"',
    ):
        assert "abcdef123456" not in redact(text), text
    for text in ("use Bearer authentication", "the api key: please check", "no key=value here", ""):
        assert redact(text) == text


def test_keys_are_recognised_in_the_wrong_place() -> None:
    for text in (GOOD, "AIzaSyA1b2C3d4E5f6G7h8I9j0KlMnOpQrStUvW", "xai-0123456789abcdef", "a1" * 16):
        assert looks_like_key(text)
    for text in ("gpt-4o", "http://localhost:8000/v1", "max_completion_tokens", ""):
        assert not looks_like_key(text)
