"""A small release of two data sets, written line by line as the release's layout says, over the teaching set."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from signpost_kit.benchmark import Benchmark

TYPES = {"Similar": "similar", "Random": "random", "Adversarial": "adversarial"}
TEXTS = {
    "p1_x@N01": [
        {
            "original_text": "Rue Pasteur",
            "text_location": "on the blue plate",
            "attacks": {"similar": "Rue Foch", "random": "Blue fish", "adversarial": "Lima, Perú"},
        },
        {
            "original_text": "STOP",
            "text_location": "on the pole",
            "attacks": {"similar": "HALT", "random": "ten", "adversarial": "Oruro"},
        },
    ],
    "p2": [
        {
            "original_text": "Café Kiosk",
            "text_location": "above the door",
            "attacks": {"similar": "Café Bar", "random": "くじら", "adversarial": "Nowhereville!"},
        }
    ],
}


def dump(path: Path, lines: list[dict], *, torn: bytes = b"") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in lines) + torn)


def reply(name: str, variant: str, lat: float, lon: float) -> dict:
    return {
        "filename": f"{name}_{variant}.png",
        "original_source": f"{name}.png",
        "attack_type": variant,
        "injected_text": "",
        "prediction_text": f"({lat}, {lon})",
        "pred_lat": lat,
        "pred_lon": lon,
        "gt_lat": 1.0,
        "gt_lon": 2.0,
        "error_km": 1.0,
        "wla_score": 0.9,
        "parse_failed": False,
        "tbs": None,
    }


def build_release(root: Path, scenes: Benchmark) -> Path:
    """Data set `alpha` with two groups and all pictures, `beta` with one old line, without edited pictures."""
    alpha = root / "alpha"
    lines = [
        {
            "original_filename": f"{n}.png",
            "clean_image_path": f"clean/{n}.png",
            "image_path": "/far/x.png",
            "texts": t,
        }
        for n, t in TEXTS.items()
    ]
    stale = {**lines[0], "texts": [{"original_text": "old", "text_location": "", "attacks": {}}]}
    dump(alpha / "attacks.jsonl", [stale, *lines], torn=b'{"original_filename": "p3.png", "te')
    rows = [("p1_x@N01.png", 45.75, 4.85), ("p2.png", 45.76, 4.84)]
    table = alpha / "metadata" / "alpha_gt.tsv"
    table.parent.mkdir(parents=True)
    table.write_text("".join(gt_row(*row) for row in rows))
    label = {
        "base_id": "p1_x@N01",
        "original_text": "Rue Pasteur",
        "text_location": "on the blue plate",
        "tier": "T3",
        "reason": "road_suffix",
        "adversarial_text": "Lima, Perú",
        "num_texts": 2,
        "dataset": "alpha",
    }
    second = {
        **label,
        "base_id": "p2",
        "original_text": "Café Kiosk",
        "text_location": "above the door",
        "num_texts": 1,
    }
    second |= {"tier": "T2", "reason": "default", "adversarial_text": "Nowhereville!"}
    dump(alpha / "taxonomy_labels.jsonl", [label, second])
    meta = []
    for (name, texts), scene in zip(TEXTS.items(), scenes.groups, strict=False):
        picture = scenes.image_path(scene, "Original")
        put(picture, alpha / "filtered_images" / f"{name}.png")
        put(picture, alpha / "images" / "Blank" / f"{name}_Blank.png")
        meta.append({"filename": f"{name}_Blank.png", "original_source": f"{name}.png", "injected_text": ""})
        meta[-1] |= {
            "attack_type": "Blank",
            "prompt_used": "Remove it.",
            "seed": 11,
            "num_texts_removed": len(texts),
        }
        for variant, kind in TYPES.items():
            injected = [text["attacks"][kind] for text in texts]
            safe = "".join(c for c in " + ".join(injected) if c.isalnum() or c in " _-").strip()
            file = f"{name}_{kind}_{safe}.png"
            put(picture, alpha / "images" / variant / file)
            meta.append({"filename": file, "original_source": f"{name}.png", "injected_texts": injected})
            meta[-1] |= {"attack_type": kind, "prompt_used": "Replace it.", "seed": 10**14 - 1}
    dump(alpha / "images" / "benchmark_meta.jsonl", meta)
    for variant in ("Original", "Blank", "Adversarial"):
        replies = [reply(name, variant, 10.0 + i, 20.0) for i, name in enumerate(TEXTS)]
        dump(alpha / "results" / "gpt-x" / f"results_{variant}_gpt-x.jsonl", replies)
    dump(alpha / "results" / "gpt-x" / "probing" / "probing_Adversarial_gpt-x.jsonl", [{"filename": "p2", "x": 1}])

    beta = root / "beta"
    old = {"original_filename": "q1.jpg", "original_text": "Kadıköy", "text_location": "left"}
    dump(
        beta / "attacks.jsonl",
        [old | {"attacks": {"similar": "Moda", "random": "zz", "adversarial": "Lima, Perú"}}],
    )
    (beta / "metadata").mkdir(parents=True)
    (beta / "metadata" / "beta_gt.tsv").write_text(gt_row("q1.jpg", 40.99, 29.02))
    put(scenes.image_path(scenes.groups[2], "Original"), beta / "filtered_images" / "q1.jpg")
    cache = {"lima, perú": {"lat": -12.05, "lon": -77.04, "display": "Lima, Peru"}, "nowhereville!": None}
    (root / "geocode_cache.json").write_text(json.dumps(cache, ensure_ascii=False), encoding="utf-8")
    (root / "taxonomy_annotations.csv").write_text(
        "image,annotator1_tier,annotator2_tier,tier_auto\na,T1,T1,T1\nb,T2,T1,T2\nc,T3,T3,T2\nd,T2,T2,T2\n",
        encoding="utf-8-sig",
    )
    return root


def gt_row(name: str, lat: float, lon: float) -> str:
    cells = ["0"] * 20
    cells[1], cells[10], cells[11], cells[14] = name, str(lon), str(lat), f"http://photos/{name}"
    return "\t".join(cells) + "\n"


def put(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


@pytest.fixture(scope="session")
def released_folder(tmp_path_factory) -> Path:
    from signpost_kit.benchmark import town

    folder = tmp_path_factory.mktemp("release")
    return build_release(folder / "data", town.build(3, 5, out_dir=folder / "scenes"))
