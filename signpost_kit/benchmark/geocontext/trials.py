"""GeoVerify's released trials and raw replies: verdicts read from the words, truth from the distance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from signpost_kit.benchmark.geocontext.account import Account
from signpost_kit.benchmark.geocontext.tables import numbers, plain_path

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ARM_NAMES", "TOLERANCE_KM", "TRIAL_NEEDS", "claim_list", "join_trials", "trial_id"]

TOLERANCE_KM = 0.15
"""A claim is true when the picture was taken closer than this."""
TRIAL_NEEDS = (
    *("image_id", "site", "path", "img_lat", "img_lon", "cand", "cand_lat", "cand_lon", "fam", "d_km", "band"),
    *("truth", "arm", "cont"),
)
ARM_NAMES = {
    **dict.fromkeys(("main",), "main"),
    **dict.fromkeys(
        ("mismatched", "mismatch", "swap", "swapped", "swapped_image", "mismatched_image"), "mismatched"
    ),
    **dict.fromkeys(("grey", "gray", "grey_field", "gray_field", "blank", "blank_image"), "grey"),
}
"""How the question itself and its two controls may be called -> the name used here."""


def trial_id(image_id: str, arm: str, candidate: str) -> str:
    """The released key of a trial."""
    return f"{image_id}|{arm}|{candidate}"


def join_trials(
    trials: pd.DataFrame, replies: Iterable[Mapping[str, Any]], account: Account | None = None
) -> pd.DataFrame:
    """The `trials` frame: one row per trial and model that answered it.

    Parameters
    ----------
    trials
        Rows of verify_trials.csv, text cells, columns :data:`TRIAL_NEEDS`.
    replies
        Objects of verify_raw.jsonl: trial_id, model, raw (the words), error.

    Returns
    -------
    trial_id, model, site, image_id, path, arm (main, mismatched, grey), cand, band, truth ("yes" / "no"), d_km,
    fam (referenceability), cont (continent; North America is AN), verdict ("yes", "no", or missing), confidence
    (0..1 or NaN), status (ok, empty, refused, unparseable, error), raw. A reply to a trial that is not in the list
    keeps what the reply itself says of the trial, and is counted. Of several replies to one trial the last counts.
    Without replies the frame is empty.
    """
    import pandas as pd

    from signpost_kit.parsing import parse_verdict

    account = account or Account()
    known = _checked(trials, account)
    rows, latest = [], {}
    for reply in replies:
        latest[str(reply.get("trial_id", "")), str(reply.get("model", ""))] = reply
    strangers = 0
    for (identity, model), reply in latest.items():
        row = known.get(identity)
        if row is None:
            strangers += 1
            row = _from_reply(reply)
        raw = reply.get("raw")
        failed = reply.get("error")
        read = parse_verdict(raw if isinstance(raw, str) else "")
        status = "error" if failed else "empty" if not (isinstance(raw, str) and raw.strip()) else read.status
        rows.append(
            row
            | {"trial_id": identity, "model": model, "status": status, "raw": raw if isinstance(raw, str) else ""}
            | {"verdict": read.verdict if status == "ok" else None}
            | {"confidence": read.confidence if status == "ok" else np.nan}
        )
    account.note("verify_raw.jsonl", "missing", strangers, "the trial of a reply is not in the list of trials")
    bad = sum(row["status"] != "ok" for row in rows)
    account.note("verify_raw.jsonl", "missing", bad, "no verdict can be read; the row stays, as a failure")
    frame = pd.DataFrame(rows, columns=[*_COLUMNS])
    unknown = ~frame["arm"].isin(set(ARM_NAMES.values()))
    account.note(
        "verify_raw.jsonl",
        "dropped",
        int(unknown.sum()),
        "the arm is unknown",
        list(frame["arm"][unknown])[:1],
    )
    frame = frame.loc[~unknown].reset_index(drop=True)
    account.note("verify_raw.jsonl", "kept", len(frame))
    return frame


def claim_list(trials: pd.DataFrame) -> pd.DataFrame:
    """The trials of the question itself and of the control with another picture, in our terms; each once."""
    import pandas as pd

    frame = trials.loc[~trials.duplicated(["image_id", "arm", "cand"])]
    arms = [_arm(str(name)) for name in frame["arm"]]
    paths = [plain_path(text) for text in frame["path"]]
    out = pd.DataFrame(
        {
            "trial_id": [
                trial_id(*row) for row in zip(frame["image_id"], frame["arm"], frame["cand"], strict=True)
            ],
            "site": frame["site"].to_numpy(),
            "image_id": frame["image_id"].to_numpy(),
            "path": paths,
            "shown": ["grey.png" if arm == "grey" else path for arm, path in zip(arms, paths, strict=True)],
            "arm": arms,
            "cand": frame["cand"].to_numpy(),
            **{name: numbers(frame[name]).to_numpy() for name in ("cand_lat", "cand_lon", "fam", "d_km")},
            "band": frame["band"].to_numpy(),
            "truth": frame["truth"].str.strip().str.lower().to_numpy(),
            "cont": frame["cont"].to_numpy(),
            "matched": True,
            **{name: numbers(frame[name]).to_numpy() for name in ("img_lat", "img_lon")},
        }
    )
    return out.loc[out["arm"].isin(set(ARM_NAMES.values()))].reset_index(drop=True)


_COLUMNS = (
    *("trial_id", "model", "site", "image_id", "path", "arm", "cand", "band", "truth", "d_km", "fam", "cont"),
    *("verdict", "confidence", "status", "raw"),
)


def _arm(name: str) -> str:
    return ARM_NAMES.get(name.strip().lower().replace("-", "_"), name)


def _checked(trials: pd.DataFrame, account: Account) -> dict[str, dict[str, Any]]:
    """Trials by their id; counted: a distance or a truth that is not what the coordinates say."""
    from signpost_kit.geo import haversine_km

    if trials.empty:
        return {}
    columns = [numbers(trials[name]).to_numpy() for name in ("img_lat", "img_lon", "cand_lat", "cand_lon")]
    ours, theirs = haversine_km(*columns), numbers(trials["d_km"]).to_numpy()
    main = np.array([_arm(name) == "main" for name in trials["arm"]])
    far = main & (np.abs(ours - theirs) > 0.001)
    account.note("verify_trials.csv", "differs", int(far.sum()), "d_km is over 1 m from what the coordinates give")
    wrong = main & ((theirs < TOLERANCE_KM) != (trials["truth"].str.lower() == "yes").to_numpy())
    account.note("verify_trials.csv", "differs", int(wrong.sum()), f"the truth is not d_km < {TOLERANCE_KM}")
    twice = trials.duplicated(["image_id", "arm", "cand"])
    account.note("verify_trials.csv", "dropped", int(twice.sum()), "the trial stands there twice")
    account.note("verify_trials.csv", "kept", int((~twice).sum()))
    found = {}
    for row, d_km, fam in zip(trials.to_dict("records"), theirs, numbers(trials["fam"]), strict=True):
        identity = trial_id(row["image_id"], row["arm"], row["cand"])
        found.setdefault(
            identity,
            {
                **{name: row[name] for name in ("site", "image_id", "cand", "band", "cont")},
                "path": plain_path(row["path"]),
                "arm": _arm(row["arm"]),
                "truth": row["truth"].strip().lower(),
                "d_km": float(d_km),
                "fam": float(fam),
            },
        )
    return found


def _from_reply(reply: Mapping[str, Any]) -> dict[str, Any]:
    def number(name: str) -> float:
        value = reply.get(name)
        return float(value) if isinstance(value, (int, float)) else np.nan

    texts = {name: str(reply.get(name, "")) for name in ("site", "image_id", "cand", "band")}
    return texts | {
        "cont": "",
        "path": "",
        "arm": _arm(str(reply.get("arm", ""))),
        "truth": str(reply.get("truth", "")).lower(),
        "d_km": number("d_km"),
        "fam": number("fam"),
    }
