"""Our way from a store to point scores, as a whole process. `python scoring_from_store.py STORE GROUPS OUT`."""

import json
import resource
import sys
from pathlib import Path

import pandas as pd

from signpost_kit.evaluation import ReplyStore
from signpost_kit.metrics import score_signpost


def main(path: Path, groups: Path, out: Path) -> None:
    with ReplyStore(path, create=False) as store:
        predictions = store.predictions("coordinate")
    frame = pd.read_csv(
        groups, dtype={"group_id": str}, keep_default_na=False, na_values={"trap_lat": "", "trap_lon": ""}
    )
    macro = score_signpost(predictions, frame, n_resamples=0, failures="answered_only")["macro"]
    scores: dict[str, dict] = {}
    for row in macro[
        macro["metric"].isin(("wla", "tbs_km", "tfr", "capability", "robustness", "mcrs"))
    ].itertuples():
        into = scores.setdefault(row.model, {})
        if row.metric in ("wla", "tbs_km"):
            into.setdefault(row.metric, {})[row.variant] = row.value
        else:
            into[row.metric] = row.value
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 1024)
    out.write_text(json.dumps({"scores": scores, "peak_mb": peak, "replies": len(predictions)}))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
