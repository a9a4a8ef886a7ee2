"""A fault in params/models.yml is one line with the file, the line, the key and the close match; no key is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from signpost_kit.errors import ConfigError
from signpost_kit.models.catalogue import load_catalogue

KEY = "sk-proj-A1b2C3d4E5f6G7h8I9j0"
GOOD = """\
routes:
  lab:
    provider: compatible
    base_url: https://lab.example/v1
    key_env: LAB_API_KEY
    image: {max_base64_bytes: 1000000, useful_side_px: 1024}
models:
  one:
    route: lab
    image: {max_images: 3}
    price: {input: 1, output: 2, date: 2026-05-01, source: price page}
"""


def _load(folder: Path, text: str):
    (folder / "params").mkdir(exist_ok=True)
    (folder / "params" / "models.yml").write_text(text, encoding="utf-8")
    return load_catalogue(folder)


def test_route_and_model_are_put_together(tmp_path: Path) -> None:
    spec = _load(tmp_path, GOOD)["one"]
    assert (spec.model_id, spec.pool, spec.key_env) == ("one", "lab", "LAB_API_KEY")
    assert (spec.image.max_base64_bytes, spec.image.max_images) == (1_000_000, 3)
    assert spec.price.date == "2026-05-01"
    own = GOOD.replace("route: lab\n", "route: lab\n    base_url: http://localhost:1/v1/\n")
    assert _load(tmp_path, own)["one"].base_url == "http://localhost:1/v1"


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("models:", "modles:", 7, ["unknown section 'modles'", "did you mean 'models'"]),
        ("    route: lab", "    rout: lab", 9, ["unknown key 'models.one.rout'", "did you mean 'route'"]),
        ("route: lab", "route: labb", 9, ["unknown route 'labb'", "did you mean 'lab'"]),
        ("    key_env", "    keyenv", 5, ["unknown key 'routes.lab.keyenv'", "did you mean 'key_env'"]),
        ("max_images: 3", "max_image: 3", 10, ["models.one.image.max_image", "did you mean 'max_images'"]),
        ("useful_side_px", "useful_side", 6, ["routes.lab.image.useful_side", "did you mean 'useful_side_px'"]),
        ("input: 1", "imput: 1", 11, ["models.one.price.imput", "did you mean 'input'"]),
        ("input: 1", "input: cheap", 11, ["models.one.price.input must be a valid number, got 'cheap'"]),
        ("input: 1", "input: -1", 11, ["models.one.price.input must be greater than or equal to 0, got -1"]),
        ("date: 2026-05-01, ", "", 11, ["the key 'models.one.price.date' is missing"]),
        ("date: 2026-05-01", "date: last week", 11, ["models.one.price.date", "got 'last week'"]),
        ("price: {input: 1,", "price: cheap\n    x: {", 12, ["unknown key 'models.one.x'"]),
        ("    price: {input: 1, output: 2, date: 2026-05-01, source: price page}", "    price: cheap", 11,
         ["models.one.price must be free, null, or a section"]),
        ("provider: compatible", "provider: openay", 3, ["routes.lab.provider must be 'openai', 'anthropic'", "got 'openay'"]),
        ("max_images: 3", "max_images: '3'", 10, ["models.one.image.max_images must be a valid integer, got '3'"]),
        ("base_url: https://lab.example/v1", "base_url: lab.example/v1", 4, ["routes.lab.base_url: it must be an address"]),
        ("lab.example/v1", "lab.example/v1/chat/completions", 4, ["leave '/chat/completions' off"]),
        ("https://lab", "http://lab", None, ["plain http: the key would cross the net readable"]),
        ("    base_url: https://lab.example/v1\n", "", None, ["needs its base_url, e.g. http://localhost:11434/v1"]),
        ("  one:", "  my model:", 8, ["the name 'my model' becomes part of file names"]),
        ("  one:", "  a/b:", 8, ["the name 'a/b' becomes part of file names"]),
        ("  one:\n", "  one: 3\n  two:\n", 8, ["models.one must be a section"]),
        ("    image: {max_images: 3}\n", "    image: {max_images: 3}\n    image: {max_images: 4}\n", 11, ["stands twice"]),
    ],
)  # fmt: skip
def test_one_line_with_the_place(tmp_path: Path, old: str, new: str, line: int | None, words: list[str]) -> None:
    assert old in GOOD
    with pytest.raises(ConfigError) as caught:
        _load(tmp_path, GOOD.replace(old, new, 1))
    message = str(caught.value)
    assert "models.yml" in message
    assert "\n" not in message
    if line is not None:
        assert f"models.yml line {line}" in message, message
    for part in words:
        assert part in message, message


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("key_env: LAB_API_KEY", f"key_env: {KEY}"),
        ("key_env: LAB_API_KEY", f"api_key: {KEY}"),
        ("key_env: LAB_API_KEY", f"key: {KEY}"),
        ("key_env: LAB_API_KEY", f"token: {KEY}"),
        ("base_url: https://lab.example/v1", f"base_url: https://user:{KEY}@lab.example/v1"),
        ("base_url: https://lab.example/v1", f"base_url: {KEY}"),
        ("route: lab", f"route: {KEY}"),
        ("provider: compatible", f"provider: {KEY}"),
        ("max_images: 3", f"max_images: {KEY}"),
    ],
)
def test_a_key_in_the_file_is_refused_and_not_shown(tmp_path: Path, old: str, new: str) -> None:
    with pytest.raises(ConfigError) as caught:
        _load(tmp_path, GOOD.replace(old, new, 1))
    seen: BaseException | None = caught.value
    while seen is not None:  # tracebacks print the chain
        assert KEY not in str(seen)
        assert KEY not in repr(seen)
        seen = None if seen.__suppress_context__ and seen.__cause__ is None else seen.__cause__ or seen.__context__
    if "key: " in new or "token: " in new:
        assert "a key never stands in this file" in str(caught.value)
    if new.startswith("key_env"):
        assert "NAME of the environment variable" in str(caught.value)


def test_no_models_at_all(tmp_path: Path) -> None:
    assert _load(tmp_path, "") == {}
    assert _load(tmp_path, "models:\n") == {}
    with pytest.raises(ConfigError, match="models must be a section"):
        _load(tmp_path, "models: [a, b]\n")
