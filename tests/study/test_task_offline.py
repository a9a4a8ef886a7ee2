"""What the offline models say to every task, through the stages of the tiny profile."""

from __future__ import annotations

import pytest

from signpost_kit.run import Run, open_run


@pytest.fixture(scope="module")
def offline(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The tiny profile with three scenes, all stages that ask."""
    run = open_run("tiny", str(tmp_path_factory.mktemp("offline") / "run"), sets=["source.n=3"])
    for name in ("probing", "defense", "cross_task"):
        run.ensure(name)
    return run


def test_the_tiny_profile_asks_every_task_about_every_scene(offline: Run):
    models = set(offline.profile.models)
    for name in ("probing", "defense"):
        table = offline.table(name)
        assert set(table["model"]) == models and len(table) == 5 * 3 * 5 and set(table["status"]) == {"ok"}
    table = offline.table("cross_task")
    assert table.groupby("task").size().to_dict() == dict.fromkeys(("consistency", "country", "language"), 75)
    failed = table[table["status"] != "ok"]
    assert set(failed["model"]) == {"looker"} and set(failed["task"]) == {"language"}  # it does not read


def test_offline_models_say_what_they_know(offline: Run):
    said = offline.table("probing").set_index(["model", "variant"]).sort_index()
    assert set(said.loc[("reader", "Adversarial"), "trusted_source"]) == {"Textual"}
    assert set(said.loc["looker", "trusted_source"]) == {"Visual"}
    assert set(said.loc["prior", "trusted_source"]) == {"Unknown"}
    for model in ("reader", "looker", "prior"):  # with one source there is nothing to compare
        assert not said.loc[model, "consistent"].isin(["yes", "no"]).any()
    assert set(said.loc[("hardened", "Adversarial"), "consistent"]) <= {"yes", "no"}
    country = offline.table("cross_task").query("task == 'country'").set_index("model")
    assert set(country.loc["reader", "visual_country"]) == {"none"}
    assert set(country.loc["looker", "textual_country"]) == {"none"}
    assert country["final_country"].ne("").all() and len(set(country.loc["prior", "final_country"])) == 1
    places = offline.table("probing").set_index(["model", "group_id", "variant"])
    for row in country.reset_index().itertuples():  # the same judgement, in another form
        asked = places.loc[(row.model, row.group_id, row.variant)]
        assert (row.visual_country, row.trusted_source) == (asked["visual_region"], asked["trusted_source"])
    language = offline.table("cross_task").query("task == 'language' and variant == 'Original'").set_index("model")
    assert set(language.loc["reader", "text_found"]) == {"yes"} and language.loc["reader", "texts"].ne("").all()
    assert set(language.loc["looker", "text_found"]) <= {"", float("nan")}


def test_the_same_judgement_of_consistency_in_both_forms(offline: Run):
    keys = ["model", "group_id", "variant"]
    asked = offline.table("cross_task").query("task == 'consistency'").set_index(keys)["consistent"]
    probed = offline.table("probing").set_index(keys)["consistent"]
    assert asked.sort_index().fillna("").tolist() == probed.sort_index().fillna("").tolist()


def test_an_estimate_counts_every_task(offline: Run):
    from signpost_kit.cli_estimate import estimate_run

    frame, _ = estimate_run(offline)
    assert set(frame["done"]) == {5 * 15} and set(frame["requests"]) == {15}  # the coordinates are still to ask
