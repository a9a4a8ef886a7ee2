"""What is drawn is what the frames say: positions, intervals, missing cells."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from signpost_kit.errors import DataError
from signpost_kit.figures import canvas, cells, fig03, fig12, fig13, fig16, fig17, fig_coverage, style
from signpost_kit.figures.balance import capability_robustness
from signpost_kit.figures.conflict import conflict_profile, text_bias
from signpost_kit.figures.grids import answer_coverage, dataset_grid
from signpost_kit.figures.tiers import tier_profile

MODELS = ["reader", "looker", "aligned"]


def by_gid(ax, gid: str) -> list:
    return [artist for artist in ax.get_children() if artist.get_gid() == gid]


def points(ax, gid: str) -> np.ndarray:
    return np.vstack([np.column_stack(line.get_data()) for line in by_gid(ax, gid)])


def two_axes():
    with style():
        _, axes = canvas(6.9, 3, columns=2)
    return axes


def one_axes():
    with style():
        _, ax = canvas(3.3, 3)
    return ax


def drop(frame: pd.DataFrame, **where: str) -> pd.DataFrame:
    """The frame with `value`, `low`, `high` of the matching rows made NaN."""
    out = frame.copy()
    hit = np.logical_and.reduce([out[k] == v for k, v in where.items()])
    out.loc[hit, ["value", "low", "high"]] = np.nan
    return out


# -- picking --------------------------------------------------------------------------------------------------


def test_pick_takes_one_reading_and_survives_a_csv(frames, tmp_path) -> None:
    macro = frames(MODELS)["macro"]
    other = macro.assign(reading="as_failures", value=0.0)
    pd.concat([macro, other]).to_csv(tmp_path / "x.csv", index=False)
    back = pd.read_csv(tmp_path / "x.csv")  # "" comes back as NaN
    rows = cells.pick(back, "mcrs")
    assert rows["model"].tolist() == MODELS and (rows["value"] > 0).all()
    assert (cells.pick(back, "mcrs", reading="as_failures")["value"] == 0).all()
    assert cells.pick(back, "no such metric").empty


def test_pick_names_missing_columns() -> None:
    with pytest.raises(DataError, match="metric"):
        cells.pick(pd.DataFrame({"model": ["a"], "value": [1.0]}), "wla")


def test_order_is_by_provider_then_value_and_missing_last() -> None:
    rows = pd.DataFrame({"model": list("abcde"), "provider": list("XYXYZ"), "value": [0.1, 0.5, 0.9, 0.7, np.nan]})
    assert cells.in_order(rows) == (list("cadbe"), list("XXYYZ"))
    assert cells.in_order(rows.iloc[::-1])[0] == list("cadbe")
    assert cells.in_order(rows, grouped=False)[0] == list("cdbae")


def test_means_leave_missing_models_out() -> None:
    rows = pd.DataFrame(
        {
            "model": ["a", "b"],
            "metric": "wla",
            "variant": "Blank",
            "value": [0.4, np.nan],
            "n_asked": 10,
            "n_answered": [10, 0],
        }
    )
    mean = cells.mean_over_models(rows).iloc[0]
    assert (mean["value"], mean["n_models"], mean["coverage"]) == (0.4, 1, 0.5)
    assert np.isnan(mean["low"])


def test_providers_come_from_the_argument_then_the_frame() -> None:
    frame = pd.DataFrame({"model": ["reader", "mine", "x"], "provider": ["Offline", "", "Y"]})
    assert cells.with_providers(frame, {"mine": "Lab"})["provider"].tolist() == ["Offline", "Lab", "Y"]
    assert cells.with_providers(frame[["model"]])["provider"].tolist() == ["Offline", "Other", "Other"]


# -- fig. 3 and 17 --------------------------------------------------------------------------------------------


def test_conflict_profile_draws_the_frame(frames) -> None:
    macro = frames(MODELS)["macro"]
    left, right = two_axes()
    conflict_profile(macro, (left, right))
    names = [t.get_text() for t in left.get_yticklabels()]
    y = dict(zip(names, left.get_yticks(), strict=True))
    for variant in ("Original", "Adversarial"):
        drawn = {round(py, 6): x for x, py in points(left, variant)}
        for row in cells.pick(macro, "wla", variant=variant).itertuples():
            assert drawn[round(y[row.model], 6)] == pytest.approx(100 * row.value)
    bars = {round(b.get_y() + b.get_height() / 2, 6): b.get_width() for b in right.patches}
    for row in cells.pick(macro, "tfr").itertuples():
        assert bars[round(y[row.model], 6)] == pytest.approx(100 * row.value)
    ends = np.vstack([np.array(s) for c in by_gid(right, "interval") for s in c.get_segments()])
    rows = cells.pick(macro, "tfr")
    assert sorted(ends[:, 0]) == pytest.approx(sorted(100 * np.r_[rows["low"], rows["high"]]))
    assert left.get_ylim() == right.get_ylim()


def test_missing_scores_are_gaps_not_zeros(frames) -> None:
    macro = drop(frames(MODELS)["macro"], model="looker", metric="tfr")
    macro = drop(macro, model="looker", metric="wla", variant="Adversarial")
    left, right = two_axes()
    conflict_profile(macro, (left, right))
    assert [t.get_text() for t in left.get_yticklabels()].count("looker") == 1
    assert len(points(left, "Original")) == 3 and len(points(left, "Adversarial")) == 2
    assert len(by_gid(left, "drop")) == 2
    assert len({round(b.get_y(), 3) for b in right.patches}) == 2
    assert all(b.get_width() > 0 for b in right.patches)
    assert not any(t.get_text() == "0.0" for t in right.texts)


def test_no_trap_and_no_answers_say_so(frames) -> None:
    macro = frames(["reader"])["macro"]
    left, right = two_axes()
    conflict_profile(macro[macro["metric"] != "tfr"], (left, right))
    assert "geocoded target" in right.texts[0].get_text().replace("\n", " ")
    left, right = two_axes()
    conflict_profile(macro.assign(value=np.nan, low=np.nan, high=np.nan), (left, right))
    assert "No model answered" in left.texts[0].get_text()
    left, right = two_axes()
    conflict_profile(macro.iloc[:0], (left, right))
    assert "No scores" in left.texts[0].get_text()


def test_text_bias_keeps_the_sign(frames) -> None:
    macro = frames(MODELS)["macro"]
    hit = (macro["metric"] == "tbs_km") & (macro["variant"] == "Adversarial") & (macro["model"] == "looker")
    macro.loc[hit, ["value", "low", "high"]] = [-120.0, -300.0, 60.0]
    ax = one_axes()
    text_bias(macro, ax)
    rows = cells.pick(macro, "tbs_km", variant="Adversarial")
    assert sorted(points(ax, "tbs")[:, 0]) == pytest.approx(sorted(rows["value"]))
    assert ax.get_xlim()[0] < -300
    assert "−120" in [t.get_text() for t in by_gid(ax, "value")]


# -- fig. 12 --------------------------------------------------------------------------------------------------


def published(n: int = 20) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    return pd.DataFrame({"model": [f"Published-{i}" for i in range(n)], "provider": "P", "mcrs": 50.0,
                         "capability_pct": rng.uniform(24, 58, n), "robustness_pct": rng.uniform(53, 87, n)})  # fmt: skip


def test_capability_and_robustness_are_drawn_in_per_cent(frames) -> None:
    macro = drop(frames(MODELS)["macro"], model="aligned", metric="robustness")
    ax = one_axes()
    capability_robustness(macro, ax, published=published(4))
    c, r = cells.pick(macro, "capability"), cells.pick(macro, "robustness")
    want = sorted(zip(100 * c["value"][:2], 100 * r["value"][:2], strict=True))
    assert np.array(sorted(map(tuple, points(ax, "model")))) == pytest.approx(np.array(want))
    assert points(ax, "published") == pytest.approx(published(4)[["capability_pct", "robustness_pct"]].to_numpy())
    for line in by_gid(ax, "mcrs"):
        x, y = (np.asarray(v) / 100 for v in line.get_data())
        level = 100 * x**0.4 * y**0.6  # SIGNPOST-Bench, eq. 6
        assert level == pytest.approx(np.full(len(level), round(level[0], -1)))
    assert "aligned" not in [t.get_text() for t in ax.texts]


def test_25_labels_overlap_neither_each_other_nor_a_point(frames) -> None:
    names = [f"Vendor-Model-{i}-long" for i in range(25)]
    figure = fig12(frames(names)["macro"])
    ax = figure.axes[0]
    figure.draw_without_rendering()
    labels = [t for t in ax.texts if t.get_text() in names]
    boxes = [t.get_window_extent() for t in labels]
    assert len(boxes) == 25
    for i, one in enumerate(boxes):
        for other in boxes[:i]:
            wide = min(one.x1, other.x1) - max(one.x0, other.x0)
            high = min(one.y1, other.y1) - max(one.y0, other.y0)
            assert wide <= 0.5 or high <= 0.5
    dots = ax.transData.transform(points(ax, "model"))
    assert not any(box.contains(*dot) for box in boxes for dot in dots)


def test_fig12_without_scores_says_so(frames) -> None:
    macro = frames(["reader"])["macro"]
    assert "No capability" in fig12(macro[macro["metric"] == "wla"]).axes[0].texts[0].get_text()
    only = fig12(macro.iloc[:0], published=published())  # nothing of one's own yet: the study alone
    assert len(points(only.axes[0], "published")) == 20


# -- fig. 13 and 16, coverage ---------------------------------------------------------------------------------


def test_tiers_are_drawn_and_an_absent_tier_stays_empty(frames) -> None:
    rows = drop(frames(["reader"])["tiers"], tier="T2")
    ax = one_axes()
    tier_profile(rows, ax, shares={"T1": (1, 0.25), "T3": (3, 0.75)})
    drawn = points(ax, "Original")
    want = rows[(rows["variant"] == "Original") & (rows["tier"] != "T2")]["value"] * 100
    assert drawn[:, 1] == pytest.approx(want.to_numpy())
    assert [t.get_text().split("\n")[1] for t in ax.get_xticklabels()] == [
        "1 scene, 25%",
        "no scene",
        "3 scenes, 75%",
    ]
    assert len(by_gid(ax, "change")) == 2


def test_many_models_become_their_mean(frames) -> None:
    tiers = frames([f"m{i}" for i in range(8)])["tiers"]
    groups = pd.DataFrame({"tier": ["T1", "T2", "T3", "T3", ""]})
    ax = fig13(tiers, groups).axes[0]
    want = tiers[tiers["variant"] == "Adversarial"].groupby("tier")["value"].mean() * 100
    assert points(ax, "Adversarial")[:, 1] == pytest.approx(want.to_numpy())
    assert len(points(ax, "faint")) == 8 * 9
    assert "2 scenes, 50%" in ax.get_xticklabels()[2].get_text()
    assert len(fig13(tiers[tiers["model"].isin(["m0", "m1"])], groups).axes) == 2


def test_dataset_grid_orders_by_mean_and_hatches_gaps(frames) -> None:
    frame = drop(frames(MODELS, ("A", "B"))["cells"], model="reader", dataset="B")
    ax = one_axes()
    dataset_grid(frame, ax)
    order = [t.get_text() for t in ax.get_yticklabels()]
    assert order[-1] == "reader"  # without a value somewhere there is no mean
    table = cells.pick(frame, "wla", variant="Adversarial").pivot(index="model", columns="dataset", values="value")
    assert order[:2] == table.mean(axis=1)[["looker", "aligned"]].sort_values(ascending=False).index.tolist()
    numbers = {(round(t.get_position()[1]), round(t.get_position()[0])): t.get_text() for t in by_gid(ax, "number")}
    assert numbers[(2, 0)] == f"{100 * table.loc['reader', 'A']:.1f}"
    assert (2, 1) not in numbers and (2, 2) not in numbers
    assert len(by_gid(ax, "missing")) == 2 and all(p.get_hatch() for p in by_gid(ax, "missing"))


def test_dataset_grid_without_answers_says_so(frames) -> None:
    frame = frames(["reader"], ("A",))["cells"]
    assert "No WLA" in fig16(frame.assign(value=np.nan)).axes[0].texts[0].get_text()
    assert "No WLA" in fig16(frame[frame["variant"] == "Original"]).axes[0].texts[0].get_text()


def test_status_shares_and_bars_add_up() -> None:
    predictions = pd.DataFrame({"model": ["a"] * 4 + ["b"], "variant": ["Original"] * 3 + ["Blank", "Original"],
                                "status": ["ok", "ok", "refused", "error", "ok"]})  # fmt: skip
    shares = cells.status_shares(predictions)
    first = shares[(shares["model"] == "a") & (shares["variant"] == "Original")]
    assert dict(zip(first["status"], first["n"], strict=True)) == {"ok": 2, "refused": 1}
    total = shares[(shares["model"] == "a") & (shares["variant"] == "all")].set_index("status")["share"]
    assert total.to_dict() == {"ok": 0.5, "refused": 0.25, "error": 0.25}
    ax = one_axes()
    answer_coverage(shares, ax)
    assert sum(p.get_width() for p in ax.patches) == pytest.approx(300)
    assert [t.get_text() for t in by_gid(ax, "answered")] == ["67%", "0%", "100%"]
    assert "No question" in fig_coverage(predictions.iloc[:0]).axes[0].texts[0].get_text()


@pytest.mark.parametrize("make", [fig03, fig12, fig16, fig17])
@pytest.mark.parametrize("cut", ["one model", "one variant", "all failed", "no rows"])
def test_thin_frames_give_a_figure_and_no_traceback(frames, tmp_path, make, cut: str) -> None:
    from signpost_kit.figures import save

    parts = frames(["reader"], ("A",))
    frame = parts["cells" if make is fig16 else "macro"]
    if cut == "one variant":
        frame = frame[frame["variant"] == "Original"]
    elif cut == "all failed":
        frame = frame.assign(value=np.nan, low=np.nan, high=np.nan, n_answered=0, coverage=0.0)
    elif cut == "no rows":
        frame = frame.iloc[:0]
    assert save(make(frame), tmp_path, "x").png.stat().st_size > 1000


def test_every_label_is_nearest_to_its_own_point_or_tied_to_it() -> None:
    from signpost_kit.figures.labels import place_labels

    # The study's own crowd: two pairs almost coincide.
    spots = [(56.6, 85.9), (57.1, 84.5), (51.9, 85.1), (25.6, 57.2), (25.8, 56.9), (47.4, 74.3), (46.0, 76.8)]
    with style():
        _, ax = canvas(6.9, 4.8)
        ax.set_xlim(0, 100)
        ax.set_ylim(0, 100)
    notes = place_labels(ax, *zip(*spots, strict=True), [f"Model-{i}-name" for i in range(len(spots))])
    pixels = ax.transData.transform(spots)
    leaders = np.array(
        [ax.transData.transform(np.column_stack(line.get_data()))[0] for line in by_gid(ax, "leader")]
    )
    for i, note in enumerate(notes):
        box = note.get_window_extent()
        gaps = np.hypot(*(np.clip(pixels, (box.x0, box.y0), (box.x1, box.y1)) - pixels).T)
        tied = len(leaders) and np.abs(leaders - pixels[i]).max(axis=1).min() < 1
        assert gaps.argmin() == i or tied
