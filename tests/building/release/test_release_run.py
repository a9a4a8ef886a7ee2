"""A release becomes a run by the stages' own way, is scored from its replies, and goes out again."""

from __future__ import annotations

from pathlib import Path

import pytest

from signpost_kit import stages
from signpost_kit.benchmark.released import read_release
from signpost_kit.cli_release import export_release, import_release, is_release
from signpost_kit.errors import DataError
from signpost_kit.run import open_run
from signpost_kit.stages import show
from signpost_kit.stages.released import passed_on


@pytest.fixture
def imported(released_folder, tmp_path):
    said: list[str] = []
    clean = import_release(released_folder, run_dir=str(tmp_path / "run"), say=said.append)
    return open_run(str(tmp_path / "run"), str(tmp_path / "run")), said, clean


def test_a_release_becomes_a_run(imported, released_folder):
    run, said, clean = imported
    assert not clean  # a line is torn
    assert said[0] == "3 groups: alpha 2, beta 1"
    assert any(line.startswith("6 replies from 3 file(s), 0 were there already") for line in said)
    groups = run.benchmark().groups
    first = read_release(released_folder).groups
    assert [g.spans for g in groups[:2]] == [g.spans for g in first[:2]]  # later stages keep what was released
    assert [g.trap for g in groups] == [g.trap for g in first]
    assert groups[0].tier_reason == "road_suffix" and groups[2].tier in ("T2", "T3")  # the last one by rule
    assert run.stage_record("taxonomy")["counts"]["as_released"] == 2
    assert run.stage_record("sources")["counts"]["missing_Random"] == 1
    assert any("line 4" in item["reason"] for item in run.stage_record("sources")["rejected"])
    assert run.benchmark().image_path(groups[1], "Adversarial").is_file()
    assert (run.dir / "release" / "taxonomy_annotations.csv").is_file()
    assert len(show.groups_table(run, "synthesis")) == 3


def test_its_replies_are_scored(imported):
    from signpost_kit.metrics import score_signpost

    run, _, _ = imported
    with run.store() as store:
        predictions = store.predictions("coordinate")
    assert sorted(predictions["group_id"].unique()) == ["p1_x@N01", "p2"]
    cells = score_signpost(predictions, run.benchmark(), n_resamples=10)["cells"]
    assert cells.loc[cells["metric"] == "wla", "n_answered"].max() == 2


def test_out_again_with_all_it_had(imported, released_folder, tmp_path):
    run, _, _ = imported
    said: list[str] = []
    export_release(run, tmp_path / "out", say=said.append)
    before, after = read_release(released_folder), read_release(tmp_path / "out")
    assert [g.images for g in after.groups] == [g.images for g in before.groups]
    assert after.groups[:2] == before.groups[:2]
    assert after.geocode_cache == before.geocode_cache and after.other_files == before.other_files
    assert "coordinate: 3 file(s) of replies" in said
    names = {p.relative_to(released_folder).as_posix() for p in released_folder.rglob("*") if p.is_file()}
    there = {p.relative_to(tmp_path / "out").as_posix() for p in (tmp_path / "out").rglob("*") if p.is_file()}
    assert names <= there  # every file, under its own name
    line = (tmp_path / "out/alpha/results/gpt-x/results_Blank_gpt-x.jsonl").read_text().splitlines()[0]
    assert '"filename":"p1_x@N01_Blank.png","original_source":"p1_x@N01.png"' in line


def test_a_town_goes_out_and_in(tmp_path, project):
    run = open_run("tiny", str(tmp_path / "tiny"), sets=["source.n=1"])
    run.ensure("synthesis")
    export_release(run, tmp_path / "out", say=lambda _: None)
    assert is_release(tmp_path / "out") and not is_release(tmp_path)
    (group,), (back,) = run.benchmark().groups, read_release(tmp_path / "out").groups
    assert (back.spans, back.trap, back.tier, back.generation) == (
        group.spans,
        group.trap,
        group.tier,
        group.generation,
    )
    for variant, path in group.images.items():
        there = read_release(tmp_path / "out").benchmark.image_path(back, variant)
        assert there.read_bytes() == (run.dir / "benchmark" / path).read_bytes()


def test_other_sources_are_not_passed_on(tmp_path):
    assert not passed_on(open_run("tiny", str(tmp_path)), "screening")


def test_no_release(tmp_path):
    with pytest.raises(DataError, match="does not exist"):
        import_release(tmp_path / "absent", run_dir=str(tmp_path / "run"))
    assert not Path(tmp_path / "run").exists()


@pytest.fixture(autouse=True)
def _wired(monkeypatch):
    """The stages as they treat a release, whoever owns them."""
    from signpost_kit.stages.common import publish, recording, save_groups
    from signpost_kit.stages.released import released_sources

    def first(run):
        with recording(run, "sources") as record:
            groups = released_sources(run, record)
            save_groups(run, "sources", groups)
            publish(run, groups)

    def wrap(name, stage):
        def call(run):
            if run.profile.source.kind != "signpost-release":
                stage(run)
            elif name == "sources":
                first(run)
            else:
                assert passed_on(run, name)

        return call

    built = ("sources", "screening", "taxonomy", "replacements", "targets", "synthesis")
    monkeypatch.setattr(stages, "STAGES", {n: wrap(n, s) if n in built else s for n, s in stages.STAGES.items()})
