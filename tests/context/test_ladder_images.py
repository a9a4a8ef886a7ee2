"""Pictures of sites: Mapillary by ids, brightness, the audit by a model and by a person, who agrees."""

from __future__ import annotations

import csv
import json
import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

sys.path.insert(0, str(Path(__file__).parent))

from ladder_servers import Mapillary, Step

from signpost_kit.audits import read_sheets, write_image_sheets
from signpost_kit.audits.filled import save_answers
from signpost_kit.errors import ConfigError, DataError
from signpost_kit.evaluation import ReplyStore
from signpost_kit.hints.plan import HintSite
from signpost_kit.ladder.images import AUDIT_COLUMNS, audit_pictures, brightness, image_audit, image_verdicts
from signpost_kit.ladder.mapillary import LICENCE, TOKEN_VARIABLE, fetch_pictures, read_ids
from signpost_kit.models.scripted import ScriptedProvider
from signpost_kit.tables_context import image_audit_table

TOKEN = "MLY|1|secret"
IDS = pd.DataFrame({"image": ["100000001", "100000002", "100000003"], "site": ["a", "a", "b"]})
ABOUT = {
    "100000001": {
        "computed_geometry": {"type": "Point", "coordinates": [2.35, 48.85]},
        "geometry": {"type": "Point", "coordinates": [2.0, 48.0]},
        "captured_at": 1507560881000, "camera_type": "perspective", "creator": {"username": "anna", "id": "7"},
    },
    "100000002": {"geometry": {"type": "Point", "coordinates": [2.36, 48.86]}, "is_pano": True},
}  # fmt: skip


@pytest.fixture(autouse=True)
def _environment(monkeypatch):
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv(TOKEN_VARIABLE, TOKEN)


def fetch(server, folder, ids=IDS, **more):
    waits = []
    found = fetch_pictures(
        ids, folder, api_url=server.url, interval_s=0, progress=False, pause=waits.append, **more
    )
    return found, waits


def test_pictures_come_with_position_and_contributor_and_are_fetched_once(tmp_path):
    with Mapillary(ABOUT) as server:
        found, _ = fetch(server, tmp_path)
        assert found.pictures[["image", "site", "lat", "lon", "perspective"]].to_numpy().tolist() == [
            ["100000001", "a", 48.85, 2.35, True],
            ["100000002", "a", 48.86, 2.36, False],
        ]
        first = found.pictures.iloc[0]
        assert (first["captured_at"], first["creator"]) == ("2017-10-09", "anna")
        assert all((tmp_path / name).is_file() for name in found.pictures["file"])
        assert found.missing["image"].tolist() == ["100000003"] and "no such picture" in found.missing["reason"][0]
        fields = server.seen[0][1]["fields"].split(",")
        assert fields[-1] == "thumb_2048_url" and "computed_geometry" in fields
        before = len(server.seen)
        again, _ = fetch(server, tmp_path)
        assert len(server.seen) == before and again.pictures.equals(found.pictures)
        assert again.missing.equals(found.missing)
        # A picture that got lost is fetched again, by a fresh address; the others are not.
        (tmp_path / found.pictures["file"][1]).unlink()
        server.asked.clear()
        fetch(server, tmp_path)
        assert dict(server.asked) == {"/100000002": 1, "/pixels/100000002": 1}
    assert (tmp_path / "LICENCE.txt").read_text().strip() == LICENCE and "CC-BY-SA" in LICENCE


def test_the_token_goes_to_the_api_alone_and_is_never_written(tmp_path, caplog):
    with (
        Mapillary(ABOUT, token="another") as server,
        pytest.raises(ConfigError, match=r"refuses the token") as caught,
    ):
        fetch(server, tmp_path)
    assert "secret" not in str(caught.value) + caplog.text
    with Mapillary(ABOUT) as server:
        fetch(server, tmp_path)
        told = [(path, "Authorization" in headers) for path, _, headers in server.seen]
        assert all(has != path.startswith("/pixels/") for path, has in told)
        assert not any("secret" in json.dumps(params) for _, params, _ in server.seen)
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or b"secret" not in path.read_bytes(), path


def test_without_a_token_nothing_is_asked(tmp_path, monkeypatch):
    monkeypatch.delenv(TOKEN_VARIABLE)
    with Mapillary(ABOUT) as server:
        with pytest.raises(ConfigError, match=f"{TOKEN_VARIABLE} is not set"):
            fetch(server, tmp_path)
        monkeypatch.setenv(TOKEN_VARIABLE, "two words")
        with pytest.raises(ConfigError, match="no token"):
            fetch(server, tmp_path)
        assert not server.seen
    with pytest.raises(ConfigError, match="api_url"):
        fetch_pictures(IDS, tmp_path, api_url="http://graph.mapillary.com")
    with pytest.raises(ConfigError, match="longest_side is 512"):
        fetch_pictures(IDS, tmp_path, longest_side=512)


def test_bad_days_are_waited_out_and_tried_again_the_next_time(tmp_path):
    one = IDS.iloc[:1]
    steps = [Step(429, b"", {"Retry-After": "7"}), Step(500, b"oops"), Step(body=b"{")]
    with Mapillary(ABOUT, steps=steps) as server:
        found, waits = fetch(server, tmp_path, one)
        assert len(found.pictures) == 1 and waits == [7.0, 2.0, 4.0]
    with Mapillary(ABOUT, steps=[Step(503, b"")] * 4) as server:
        found, _ = fetch(server, tmp_path / "b", one)
        assert found.pictures.empty and "next time" in found.missing["reason"][0]
        assert len(fetch(server, tmp_path / "b", one)[0].pictures) == 1
    busy = [Step(429, b"", {"Retry-After": "3600"})]
    with Mapillary(ABOUT, steps=busy) as server, pytest.raises(DataError, match="pause of 60 minutes"):
        fetch(server, tmp_path / "c", one)


def test_ids_are_read_from_released_paths_too(tmp_path, shared_data):
    path = tmp_path / "ids.csv"
    path.write_text("path\nstreetview\\tokyo_shibuya\\1058919448101518.jpg\n123456789\n", encoding="utf-8")
    assert read_ids(path).to_numpy().tolist() == [["1058919448101518", "tokyo_shibuya"], ["123456789", ""]]
    released = read_ids(shared_data / "geocontext" / "image_audit.csv")
    assert len(released) == 41 and released["image"].str.isdigit().all() and set(released["site"]) == {
        p.split("/")[1] for p in pd.read_csv(shared_data / "geocontext" / "image_audit.csv")["image"]
    }  # fmt: skip
    path.write_text("image\n../../etc/passwd\n", encoding="utf-8")
    with pytest.raises(DataError, match="row 2"):
        read_ids(path)


@pytest.fixture
def sites(tmp_path):
    """Two sites with two pictures each; s2/dark.png is too dark."""
    rng = np.random.default_rng(1)
    found = []
    for site, names in (("s1", ("one", "two")), ("s2", ("three", "dark"))):
        pictures = []
        for name in names:
            file = tmp_path / f"{site}_{name}.png"
            pixels = rng.integers(0, 20 if name == "dark" else 255, (40, 60, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(file)
            pictures.append((f"{site}/{name}.png", file))
        found.append(HintSite(site, "Paris", 48.85, 2.35, tuple(pictures)))
    return found


def reply(**more):
    plain = {"overlay": "no", "overlay_text": "", "scene": "street", "through_glass": False, "quality": 4}
    return json.dumps({**plain, "tourist_infrastructure": "no", "usable": "yes", "why": "clear", **more})


def test_brightness_is_the_mean_luma(tmp_path):
    for colour, luma in (((255, 255, 255), 255.0), ((0, 0, 0), 0.0), ((255, 0, 0), 0.299 * 255)):
        Image.new("RGB", (30, 20), colour).save(tmp_path / "c.png")
        assert brightness(tmp_path / "c.png") == pytest.approx(luma, abs=0.5)


def test_a_model_audits_every_picture_that_is_bright_enough(sites, tmp_path):
    def script(request):
        if request.group_id == "s1/two.png":
            return reply(
                overlay="yes", overlay_text="N: 52.37 E: 4.89", usable="no", why="a dashboard camera's stamp"
            )
        return "no idea" if request.group_id == "s2/three.png" else reply()

    model = ScriptedProvider(script=script)
    with ReplyStore(tmp_path / "r.sqlite") as store:
        frame = audit_pictures(sites, {"aud": model}, store=store, progress=False)
        again = audit_pictures(sites, {"aud": model}, store=store, progress=False)
    assert len(model.history) == 3 and again.equals(frame)
    assert list(frame.columns) == list(AUDIT_COLUMNS[:-2])
    rows = frame.set_index("image")
    assert rows.loc["s1/one.png", ["ai_usable", "ai_scene", "ai_quality"]].tolist() == [1.0, "street", 4.0]
    assert rows.loc["s1/two.png", ["ai_usable", "ai_overlay", "ai_overlay_text"]].tolist() == [
        0.0,
        1.0,
        "N: 52.37 E: 4.89",
    ]
    assert rows.loc["s2/dark.png", ["ai_status", "ai_usable", "ai_why"]].tolist() == ["dark", 0.0, "too dark"]
    assert rows.loc["s2/three.png", "ai_status"] == "unparseable" and np.isnan(
        rows.loc["s2/three.png", "ai_usable"]
    )
    assert all("Paris" not in r.prompt and "s1" not in r.prompt for r in model.history)
    with ReplyStore(tmp_path / "r.sqlite") as store, pytest.raises(ConfigError, match="must not be evaluated"):
        audit_pictures(sites, "prior", store=store, evaluated=["prior"])


def filled(sheet, verdicts, key):
    """Fill a person's sheet as a spreadsheet program would save it."""
    names = {row["item"]: row["group_id"] for row in csv.DictReader(key.open(encoding="utf-8-sig"))}
    rows = list(csv.DictReader(sheet.open(encoding="utf-8-sig")))
    out = sheet.with_name("filled.csv")
    with out.open("w", encoding="utf-8", newline="") as handle:
        writer = csv.DictWriter(handle, fieldnames=list(rows[0]))
        writer.writeheader()
        for row in rows:
            verdict, reason = verdicts[names[row["item"]]]
            writer.writerow({**row, "verdict": verdict, "remark": reason})
    return out


def test_a_person_keeps_or_excludes_on_a_sheet_and_the_agreement_is_shown(sites, tmp_path):
    pictures = [(s.site, name, file) for s in sites for name, file in s.pictures]
    made = write_image_sheets(pictures, tmp_path / "audits" / "images")
    page = made.pages[0].read_text(encoding="utf-8")
    assert page.count("data:image/jpeg;base64,") == 4 and "exclude" in page and "Paris" not in page
    assert "s1/one" not in page and "s1/one" not in made.sheets[0].read_text(encoding="utf-8")
    said = {"s1/one.png": ("keep", ""), "s1/two.png": ("Exclude", "coordinates"), "s2/three.png": ("exclude", "nothing"),
            "s2/dark.png": ("keep", "")}  # fmt: skip
    answers = read_sheets([filled(made.sheets[0], said, made.key)], [made.key])
    (kept,) = save_answers(answers, tmp_path / "audits")
    people = image_verdicts(kept)
    assert people.set_index("image")["human_usable"].to_dict() == {
        "s1/one.png": 1.0, "s1/two.png": 0.0, "s2/three.png": 0.0, "s2/dark.png": 1.0,
    }  # fmt: skip
    assert people.set_index("image")["human_reason"]["s1/two.png"] == "coordinates"
    with ReplyStore(tmp_path / "r.sqlite") as store:
        script = lambda r: reply(usable="no" if "two" in r.group_id else "yes")  # noqa: E731
        by_model = audit_pictures(sites, {"aud": ScriptedProvider(script=script)}, store=store, progress=False)
    both = image_audit(by_model, people)
    assert list(both.columns) == list(AUDIT_COLUMNS) and len(both) == 4
    note = image_audit_table(both).note or ""
    assert "4 of 4 pictures judged by both; agreement 50.0%" in note and "kappa 0.000" in note  # 1 1 / 1 1
    assert image_audit(None, people)["ai_usable"].isna().all() and image_audit(None, None).empty
    wrong = {**said, "s1/one.png": ("maybe", "")}
    with pytest.raises(DataError, match="verdict is 'maybe'; allowed: keep, exclude"):
        read_sheets([filled(made.sheets[0], wrong, made.key)], [made.key])


def test_where_people_differ_one_who_excludes_counts(tmp_path):
    path = tmp_path / "v.csv"
    path.write_text("site,image,annotator,verdict,reason\na,x,1,keep,\na,x,2,exclude,blurred\na,y,1,keep,\n")
    assert image_verdicts(path)[["image", "human_usable", "human_reason"]].to_numpy().tolist() == [
        ["x", 0.0, "blurred"], ["y", 1.0, ""],
    ]  # fmt: skip
    path.write_text("site,image,verdict\na,x,perhaps\n")
    with pytest.raises(DataError, match="row 2: the verdict is 'perhaps'"):
        image_verdicts(path)


def test_sheets_of_a_run_by_command_and_back(tmp_path):
    import yaml

    from signpost_kit.cli_audit import make_sheets, take_sheets
    from signpost_kit.run import open_run

    (tmp_path / "p.yml").write_text(yaml.safe_dump({
        "source": {"kind": "town", "n": 3, "seed": 7}, "models": ["prior"],
        "context": {"hints": {"schemas": ["forced"]}, "respondents": {"a": {}}},
    }))  # fmt: skip
    run = open_run(str(tmp_path / "p.yml"), str(tmp_path / "run"))
    told = []
    files = make_sheets(run, only="images", annotators=1, say=told.append)
    assert "3 pictures" in told[0]
    key = run.dir / "audits" / "images" / "key.csv"
    names = [row["group_id"] for row in csv.DictReader(key.open(encoding="utf-8-sig"))]
    said = {name: ("keep" if i else "exclude", "dark") for i, name in enumerate(names)}
    take_sheets(run, [filled(files[0], said, key)], say=told.append)
    assert run.table("image_audit")["human_usable"].tolist() == [0.0, 1.0, 1.0] and "3 pictures judged" in told[-1]
    run.ensure("ladder")
    assert len(run.table("image_audit")) == 3 and run.stage_record("ladder")["counts"]["audited_pictures"] == 3
