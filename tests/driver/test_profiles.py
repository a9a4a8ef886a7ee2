"""Profiles: what is right is read right, what is wrong is named with file, line, key and remedy."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from signpost_kit.errors import ConfigError
from signpost_kit.profiles import (
    Profile,
    available_profiles,
    dump_profile,
    find_profile,
    load_profile,
    project_root,
)


def test_every_shipped_profile_is_valid(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    names = available_profiles()
    assert {"demo", "tiny", "photos", "paper-signpost", "paper-geocontext"} <= set(names)
    for name in names:
        assert load_profile(name).name == name
    demo = load_profile("demo")
    assert (demo.source.n, len(demo.evaluation.variants), len(demo.models)) == (60, 5, 5)


def test_a_profile_is_found_by_name_path_and_run_folder(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_profile("tiny") == toy / "params/tiny.yml"
    assert find_profile("params/tiny.yml").resolve() == toy / "params/tiny.yml"
    (toy / "runs/old").mkdir(parents=True)
    (toy / "runs/old/profile.yml").write_text("name: old\nmodels: [prior]\n")
    assert load_profile("runs/old").name == "old"
    monkeypatch.chdir(toy / "notebooks/stages")  # where a notebook opened by hand lives
    assert project_root() == toy
    assert load_profile("params/tiny.yml").source.n == load_profile("tiny").source.n == 2


@pytest.mark.parametrize(
    ("change", "value"),
    [
        ("source.n=12", 12),
        ("scoring.alpha=5e-3", 0.005),
        ("title=007", "007"),  # a text stays what was typed
        ("models=reader, prior", ["reader", "prior"]),
        ("models=[reader]", ["reader"]),
        ("screening.max_spans=null", None),
        ("evaluation.variants=[Adversarial, Original]", ["Original", "Adversarial"]),  # in the kit's order
    ],
)
def test_set_changes_a_key(toy: Path, change: str, value: object) -> None:
    data = load_profile("tiny", [change]).model_dump()
    for part in change.split("=", maxsplit=1)[0].split("."):
        data = data[part]
    assert data == value


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ("source.sed=3", ["--set source.sed", "did you mean 'source.seed'?", "kind, n, seed"]),
        ("modles=[prior]", ["did you mean 'models'?"]),
        ("n=3", ["did you mean 'source.n'?"]),
        ("source.n=many", ["source.n must be a valid integer", "'many'"]),
        ("source.n=true", ["source.n must be a valid integer"]),
        ("source.n=0", ["greater than or equal to 1"]),
        ("source=3", ["must be a section"]),
        ("source.n.x=3", ["'n' is a value"]),
        ("models=redaer", ["unknown model 'redaer'", "did you mean 'reader'", "known:"]),
        ("models=[]", ["at least 1 item"]),
        ("models=[prior, prior]", ["'prior' stands twice"]),
        ("models=[prior", ["cannot read the value '[prior'"]),
        ("scoring.failures=both", ["'answered_only' or 'as_failures'", "'both'"]),
        ("evaluation.variants=[Blnk]", ["unknown variant 'Blnk'", "did you mean 'Blank'"]),
        ("name=a/b", ["becomes a folder"]),
        ("name=..", ["becomes a folder"]),
        ("source.n", ["key=value"]),
    ],
)
def test_a_wrong_change_is_explained_in_one_line(toy: Path, change: str, parts: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        load_profile("tiny", [change])
    text = str(caught.value)
    assert "\n" not in text
    for part in parts:
        assert part in text


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("models: [prior]\nsuorce:\n  n: 3\n", ["bad.yml line 2", "did you mean 'source'?"]),
        ("models: [prior]\nsource:\n  kind: town\n  lmit: 3\n", ["bad.yml line 4", "did you mean 'source.limit'?"]),
        ("models: [prior]\nsource: {n: 1.5}\n", ["line 2", "source.n must be a valid integer"]),
        ("models: [prior]\nmodels: [reader]\n", ["line 2", "'models' stands twice (first in line 1)"]),
        ("models: [prior\nname: x\n", ["line 2", "not valid YAML"]),
        ("- prior\n", ["`key: value` lines"]),
        ("", ["'models' is missing"]),
    ],
)
def test_a_wrong_file_is_explained_with_its_line(toy: Path, content: str, parts: list[str]) -> None:
    (toy / "bad.yml").write_text(content)
    with pytest.raises(ConfigError) as caught:
        load_profile("bad.yml")
    for part in parts:
        assert part in str(caught.value)


def test_a_missing_profile_names_the_available_ones(toy: Path) -> None:
    (toy / "params/taxonomy.yml").write_text("T1: [shop]\n")  # not a profile
    with pytest.raises(ConfigError, match=r"did you mean 'tiny'\? available in .*params: tiny$"):
        load_profile("tinny")


def test_not_utf8(toy: Path) -> None:
    (toy / "bad.yml").write_bytes(b"title: caf\xe9\n")
    with pytest.raises(ConfigError, match="not UTF-8"):
        load_profile("bad.yml")


def test_paths_of_a_file_start_at_the_project_typed_ones_at_the_current_folder(
    toy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("pictures", "notebooks/figures/pictures"):
        (toy / folder).mkdir()
    (toy / "params/mine.yml").write_text("models: [prior]\nsource: {kind: photos, path: pictures}\n")
    monkeypatch.chdir(toy / "notebooks/figures")
    assert load_profile("mine").source.path == str(toy / "pictures")
    typed = load_profile("mine", ["source.path=pictures"])
    assert typed.source.path == str(toy / "notebooks/figures/pictures")
    # What is written for the run means the same from anywhere and holds no absolute path.
    text = dump_profile(typed)
    assert str(toy) not in text
    (toy / "again.yml").write_text(text)
    assert load_profile(toy / "again.yml") == typed


def test_a_profile_read_back_gives_the_same_hashes(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels read the copy in the run's folder; 50 there and 50.0 here would redo every stage."""
    monkeypatch.chdir(project)
    for name in available_profiles():
        profile = load_profile(name)
        again = Profile.model_validate(yaml.safe_load(dump_profile(profile)))
        assert repr(again.model_dump(exclude={"source"})) == repr(profile.model_dump(exclude={"source"}))
