"""The 801 real replies as a run would take them: parsed, scored, against the distances that were recorded with them.

Reading each reply is tested in tests/numbers/test_real_replies.py; here the whole way to the score, and a list of
every reply that cannot be compared, by reason.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from signpost_kit.metrics import score_signpost
from signpost_kit.parsing import parse_coordinates

COMPARED = "the recorded position stands in the reply"


def parsed(replies: pd.Series) -> pd.DataFrame:
    rows = [parse_coordinates(text) for text in replies]
    ok = [row.status == "ok" for row in rows]
    return pd.DataFrame(
        {
            "lat": [row.lat if good else math.nan for row, good in zip(rows, ok, strict=True)],
            "lon": [row.lon if good else math.nan for row, good in zip(rows, ok, strict=True)],
            "status": [row.status for row in rows],
        }
    )


def reason(text: str, lat: object, lon: object) -> str:
    """Why a recorded distance can, or cannot, be compared with ours."""
    try:
        position = float(str(lat)), float(str(lon))
    except ValueError:
        return "nothing was recorded"
    if not all(map(math.isfinite, position)):
        return "nothing was recorded"
    if abs(position[0]) > 90 or abs(position[1]) > 180:
        return "the recorded position is off the globe"
    written = {abs(float(number)) for number in re.findall(r"\d+\.?\d*", text)}
    near = [any(abs(abs(p) - w) < 1e-6 for w in written) for p in position]
    return COMPARED if all(near) else "the recorded position stands nowhere in the reply"


@pytest.fixture(scope="module")
def replies(shared_data: Path) -> pd.DataFrame:
    return pd.read_csv(shared_data / "replies" / "qwen2_vl_7b_replies.csv")


@pytest.fixture(scope="module")
def scored(replies: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """All of them as the replies of one model to Original pictures of one data set."""
    answers = parsed(replies["reply"])
    predictions = answers.assign(
        model="qwen2-vl-7b", dataset="geo", group_id=replies["image_name"], variant="Original"
    )
    groups = pd.DataFrame(
        {
            "dataset": "geo",
            "group_id": replies["image_name"],
            "lat": replies["label_lat"],
            "lon": replies["label_lon"],
            "trap_lat": math.nan,
            "trap_lon": math.nan,
            "tier": "",
        }
    )
    return score_signpost(predictions, groups, n_resamples=200)


def test_every_distance_is_the_recorded_one_to_ten_metres(replies, scored):
    why = [
        reason(*row) for row in zip(replies["reply"], replies["recorded_lat"], replies["recorded_lon"], strict=True)
    ]
    assert Counter(why) == {COMPARED: 800, "nothing was recorded": 1}
    scores = scored["scores"].set_index("group_id")
    compared = replies[np.array(why) == COMPARED].set_index("image_name")
    ours = scores.loc[compared.index, "error_km"]
    assert (ours - compared["distance_km"]).abs().max() < 0.01
    np.testing.assert_allclose(
        scores.loc[compared.index, "wla"], np.exp(-0.005 * compared["distance_km"]), atol=1e-4
    )


def test_the_one_that_was_not_recorded_is_read_and_scored(replies, scored):
    # Broken JSON with a loose address line; the text gives 6.05, 3.05.
    row = replies[replies["distance_km"].isna()].iloc[0]
    mine = scored["scores"].set_index("group_id").loc[row["image_name"]]
    assert (mine["status"], mine["lat"], mine["lon"]) == ("ok", 6.05, 3.05)
    assert mine["error_km"] > 0


def test_the_scores_of_all_801_are_those_of_the_recorded_distances(replies, scored):
    macro = scored["macro"]
    macro = macro[(macro["variant"] == "Original") & (macro["reading"] == "answered_only") & (macro["tier"] == "")]
    values = macro.set_index("metric")
    recorded = replies["distance_km"].dropna().to_numpy()
    assert values.loc["wla", "n_answered"] == values.loc["wla", "n_asked"] == 801
    # The reply that was not recorded moves a mean by at most 1/801.
    for k in (1, 25, 200, 750, 2500):
        assert values.loc[f"acc_{k}", "value"] == pytest.approx((recorded < k).mean(), abs=1 / 801)
    assert values.loc["wla", "value"] == pytest.approx(np.exp(-0.005 * recorded).mean(), abs=1 / 801)
    assert values.loc["median_error_km", "value"] == pytest.approx(np.median(recorded), rel=0.01)
    assert values.loc["wla", "low"] < values.loc["wla", "value"] < values.loc["wla", "high"]


def test_odd_replies_by_reason(shared_data: Path):
    """The 78 odd ones: which recorded positions can be compared at all, and what became of the others."""
    with (shared_data / "replies" / "raw_replies.jsonl").open(encoding="utf-8") as handle:
        rows = [json.loads(line) for line in handle]
    answers = parsed(pd.Series([row["raw"] for row in rows]))
    recorded = [(row["source_recorded_lat"], row["source_recorded_lon"]) for row in rows]
    why = [reason(row["raw"], *position) for row, position in zip(rows, recorded, strict=True)]
    table = pd.crosstab(pd.Series(why, name="recorded"), answers["status"])
    assert table.to_numpy().sum() == 78
    for place, told in enumerate(why):
        if told == COMPARED and answers["status"][place] == "ok":
            expected = tuple(float(value) for value in recorded[place])
            assert (answers["lat"][place], answers["lon"][place]) == pytest.approx(expected), place
        if told == "the recorded position is off the globe":
            assert answers["status"][place] == "out_of_range", place  # never turned or clipped to fit
    assert table.sum(axis=1).to_dict() == {
        COMPARED: 32,
        "nothing was recorded": 42,
        "the recorded position is off the globe": 2,
        "the recorded position stands nowhere in the reply": 2,
    }
    assert table.loc[COMPARED, "ok"] == 32
    # A position that is not in the text was made up by whoever recorded it: the reply refuses.
    assert table.loc["the recorded position stands nowhere in the reply", "refused"] == 2
