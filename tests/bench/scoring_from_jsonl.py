"""Our way from the release's results to point scores, as a whole process. `python scoring_from_jsonl.py ROOT OUT`."""

import json
import resource
import sys
from pathlib import Path

import pandas as pd

from signpost_kit.benchmark.results_jsonl import read_results
from signpost_kit.metrics import score_signpost


def main(root: Path, out: Path) -> None:
    groups = pd.read_csv(
        root / "groups.csv",
        dtype={"group_id": str},
        keep_default_na=False,
        na_values={"trap_lat": "", "trap_lon": ""},
    )
    results = read_results(root)
    macro = score_signpost(results.predictions, groups, n_resamples=0, failures="answered_only")["macro"]
    scores: dict[str, dict] = {}
    wanted = ("wla", "tbs_km", "tfr", "capability", "robustness", "mcrs")
    for row in macro[macro["metric"].isin(wanted)].itertuples():
        into = scores.setdefault(row.model, {})
        if row.metric in ("wla", "tbs_km"):
            into.setdefault(row.metric, {})[row.variant] = row.value
        else:
            into[row.metric] = row.value
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    out.write_text(json.dumps({"scores": scores, "peak_mb": peak, "problems": len(results.problems)}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
