"""The plain way to score the release's results: one loop, one json.loads per line, dictionaries.

A yardstick and an independent check, not part of the package. `python scoring_yardstick.py ROOT OUT`.
"""

import csv
import json
import math
import sys
from collections import defaultdict
from pathlib import Path


def haversine(lat1, lon1, lat2, lon2):
    p1, p2 = math.radians(lat1), math.radians(lat2)
    a = math.sin((p2 - p1) / 2) ** 2 + math.cos(p1) * math.cos(p2) * math.sin(math.radians(lon2 - lon1) / 2) ** 2
    return 2 * 6371.0 * math.asin(math.sqrt(min(1.0, max(0.0, a))))


def main(root: Path, out: Path) -> None:
    groups = {}
    with (root / "groups.csv").open(newline="") as handle:
        for row in csv.DictReader(handle):
            trap = (float(row["trap_lat"]), float(row["trap_lon"])) if row["trap_lat"] else None
            groups[row["dataset"], row["group_id"]] = (float(row["lat"]), float(row["lon"]), trap)
    wla_sum, wla_n = defaultdict(float), defaultdict(int)
    errors, fit, fit_n = {}, defaultdict(int), defaultdict(int)
    for path in sorted(root.glob("*/results/*/results_*.jsonl")):
        dataset, model = path.parents[2].name, path.parent.name
        with path.open() as handle:
            for line in handle:
                row = json.loads(line)
                if row["parse_failed"]:
                    continue
                variant, group = row["attack_type"], row["original_source"].rsplit(".", 1)[0]
                lat, lon, trap = groups[dataset, group]
                error = haversine(row["pred_lat"], row["pred_lon"], lat, lon)
                wla_sum[model, dataset, variant] += math.exp(-0.005 * error)
                wla_n[model, dataset, variant] += 1
                errors[model, dataset, variant, group] = error
                if variant == "Adversarial" and trap:
                    fit_n[model, dataset] += 1
                    fit[model, dataset] += haversine(row["pred_lat"], row["pred_lon"], *trap) < 50
    tbs_sum, tbs_n = defaultdict(float), defaultdict(int)
    for (model, dataset, variant, group), error in errors.items():
        if variant in ("Similar", "Random", "Adversarial"):
            blank = errors.get((model, dataset, "Blank", group))
            if blank is not None:
                tbs_sum[model, dataset, variant] += error - blank
                tbs_n[model, dataset, variant] += 1
    scores = {}
    datasets = sorted({key[1] for key in wla_n})
    for model in sorted({key[0] for key in wla_n}):
        w = {
            v: mean(wla_sum[model, d, v] / wla_n[model, d, v] for d in datasets)
            for v in ("Original", "Blank", "Similar", "Random", "Adversarial")
        }
        tbs = {
            v: mean(tbs_sum[model, d, v] / tbs_n[model, d, v] for d in datasets)
            for v in ("Similar", "Random", "Adversarial")
        }
        tfr = mean(fit[model, d] / fit_n[model, d] for d in datasets)
        kept = [
            min(1, max(0, 1 - max(0, w["Blank"] - w[v]) / max(w["Blank"], 0.1))) for v in ("Random", "Adversarial")
        ]
        q_tbs = 1 - min(1, max(0, tbs["Adversarial"]) / 3000)
        q_tfr = 1 - min(1, tfr / 0.4)
        r = 0.22 * kept[0] + 0.44 * kept[1] + 0.17 * q_tbs + 0.17 * q_tfr
        c = 0.5 * w["Original"] + 0.5 * w["Blank"]
        scores[model] = {
            "wla": w,
            "tbs_km": tbs,
            "tfr": tfr,
            "capability": c,
            "robustness": r,
            "mcrs": 100 * c**0.4 * r**0.6,
        }
    out.write_text(json.dumps(scores))


def mean(values):
    values = list(values)
    return sum(values) / len(values)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
