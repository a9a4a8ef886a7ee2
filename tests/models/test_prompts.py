"""Prompts: found, hashed, replaceable, and clear about what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from signpost_kit import prompts
from signpost_kit.errors import ConfigError
from signpost_kit.files import hash_bytes

PROBING_FIELDS = (
    "visual_evidence",
    "visual_region",
    "textual_evidence",
    "textual_region",
    "consistent",
    "consistency_explanation",
    "trusted_source",
    "trust_explanation",
    "final_prediction",
)


def test_shipped_prompts_ask_for_the_fields_that_are_parsed() -> None:
    assert set(prompts.tasks()) >= {"coordinate", "probing", "defense"}
    coordinate, probing, defense = (prompts.load(task) for task in ("coordinate", "probing", "defense"))
    assert '"lat"' in coordinate.text and '"lon"' in coordinate.text
    assert all(f'"{field}"' in probing.text for field in PROBING_FIELDS)
    heads = [line.split(":")[0] for line in defense.text.splitlines() if ":" in line][-5:]
    assert heads == ["Visual", "Text", "Conflict", "Trusted", "Final"]
    assert len({coordinate.hash, probing.hash, defense.hash}) == 3
    assert coordinate.hash == hash_bytes(coordinate.text.encode())


def test_a_prompt_holds_no_pair_of_numbers_that_an_echo_could_turn_into_an_answer() -> None:
    for task in ("coordinate", "probing", "defense"):
        assert not any(c.isdigit() for c in prompts.load(task).text), task


def test_line_ends_and_byte_order_mark_do_not_change_the_hash(tmp_path: Path) -> None:
    for name, data in (("unix", b"Where?\nSay.\n"), ("windows", b"\xef\xbb\xbfWhere?\r\nSay.\r\n")):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "coordinate.md").write_bytes(data)
    one, two = (prompts.load("coordinate", folder=tmp_path / name) for name in ("unix", "windows"))
    assert one.text == "Where?\nSay." and one.hash == two.hash


def test_the_nearest_folder_replaces_one_file_and_leaves_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = prompts.load("defense")
    folder = tmp_path / "params" / "prompts"
    folder.mkdir(parents=True)
    (folder / "coordinate.txt").write_text("Just the coordinates.", encoding="utf-8")
    (tmp_path / "deeper").mkdir()
    monkeypatch.chdir(tmp_path / "deeper")
    assert prompts.load("coordinate").text == "Just the coordinates."
    assert prompts.load("coordinate").path == folder / "coordinate.txt"
    assert prompts.load("defense").hash == shipped.hash


@pytest.mark.parametrize("task", ["cordinate", "../models", "", "Coordinate"])
def test_an_unknown_task_names_the_known_ones(task: str) -> None:
    with pytest.raises(ConfigError, match=r"coordinate, .*defense, .*probing"):
        prompts.load(task)


@pytest.mark.parametrize(("data", "message"), [(b" \n", "is empty"), (b"\xff\xfe?", "not UTF-8")])
def test_a_bad_file_is_named(tmp_path: Path, data: bytes, message: str) -> None:
    (tmp_path / "coordinate.md").write_bytes(data)
    with pytest.raises(ConfigError, match=f"coordinate.md.*{message}"):
        prompts.load("coordinate", folder=tmp_path)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no folder of prompts at .*nowhere"):
        prompts.load("coordinate", folder=tmp_path / "nowhere")
