"""A folder of released GeoContext files, whole or in part: whatever is there is read, what is not is said."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from signpost_kit.benchmark.geocontext.account import Account
from signpost_kit.benchmark.geocontext.answers import ANSWER_NEEDS, LADDER_NEEDS, join_answers
from signpost_kit.benchmark.geocontext.tables import numbers, plain_path, read_csv, read_csvs, read_jsonl, truths
from signpost_kit.benchmark.geocontext.trials import TRIAL_NEEDS, claim_list, join_trials
from signpost_kit.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Released", "read_released"]

_SITE_NEEDS = ("site", "city", "country", "continent", "landmark", "qid", "lat", "lon")
_IMAGE_NEEDS = ("image", "site", "ai_usable", "human_verdict")


@dataclass(frozen=True)
class Released:
    """The frames of a release. A file that is not there gives a frame without rows."""

    root: Path
    sites: pd.DataFrame
    """site, city, country, continent (AN: North America), landmark, qid, lat, lon, and what else the file has."""
    ladders: pd.DataFrame
    """site, auditor, band, tier, name_en, name_local, qid, ref_km, referenceability (0-5)."""
    answers: pd.DataFrame
    """See :func:`join_answers`."""
    trials: pd.DataFrame
    """See :func:`join_trials`."""
    claims: pd.DataFrame
    """The list of trials itself, to be put to other models: the columns of `signpost_kit.claims.make_trials`, and
    img_lat, img_lon. In the controls `shown` is the picture as the list names it."""
    image_audit: pd.DataFrame
    """image, site, ai_usable, human_usable (1.0, 0.0, NaN), ai_why, human_reason."""
    decisions: pd.DataFrame
    """What auditors said of reference points: qid, label, model, ok, familiarity, name_en, name_zh."""
    chains: pd.DataFrame
    """Raw replies of the schema forced_chain: site, model, path, context, raw."""
    district_scale: pd.DataFrame
    city_pool: pd.DataFrame
    account: Account = field(default_factory=Account)
    """What was read, left out, ambiguous or missing."""


def read_released(root: str | Path, *, auditor: str = "") -> Released:
    """Read the files of GEOCONTEXT's release below `root` (itself, or its folder `data`).

    Parameters
    ----------
    root
        The folder; also one with excerpts: answers*.csv, verify_trials*.csv and verify_raw*.jsonl are all read.
    auditor
        Which auditor's ladders to use where a site has several; empty: the first by name.

    Raises
    ------
    DataError
        The folder is not there, holds none of the files, or a file is no sound CSV or lacks columns.
    """
    folder = _folder(Path(root))
    account = Account()
    sites = _sites(folder, account)
    ladders, rungs = _ladders(folder, auditor, account)
    answers = read_csvs(folder.glob("answers*.csv"), ANSWER_NEEDS, account)
    trials = read_csvs(folder.glob("verify_trials*.csv"), TRIAL_NEEDS, account)
    replies = [row for path in sorted(folder.glob("verify_raw*.jsonl")) for row in read_jsonl(path, account)]
    released = Released(
        root=folder,
        sites=sites,
        ladders=ladders,
        answers=join_answers(answers, rungs, sites, account),
        trials=join_trials(trials, replies, account),
        claims=claim_list(trials),
        image_audit=_image_audit(folder, account),
        decisions=_jsonl_frame(folder, "audit_decisions*.jsonl", account),
        chains=_jsonl_frame(folder, "forced_chain_raw*.jsonl", account),
        district_scale=_optional(folder, "district_scale.csv", account),
        city_pool=_optional(folder, "city_pool.csv", account),
        account=account,
    )
    for name in ("sites", "ladders", "answers", "trials", "image_audit"):
        if getattr(released, name).empty:
            account.note(name, "missing", 1, "no such file, or nothing in it could be used")
    return released


def _folder(root: Path) -> Path:
    if not root.is_dir():
        what = "is a file, not a folder" if root.exists() else "does not exist"
        raise DataError(f"the folder of released GeoContext files {root} {what}: check source.path")
    for folder in (root, root / "data"):
        if any(folder.glob("answers*.csv")) or any(folder.glob("verify_*")) or (folder / "sites.csv").is_file():
            return folder
    raise DataError(
        f"{root} holds no released GeoContext files: sites.csv, ladders/, answers_judged.csv, verify_trials.csv, "
        "verify_raw.jsonl are looked for there and in its folder data"
    )


def _sites(folder: Path, account: Account) -> pd.DataFrame:
    path = folder / "sites.csv"
    frame = read_csvs([path] if path.is_file() else [], _SITE_NEEDS, account).drop(columns="file")
    for name in ("lat", "lon", "sitelinks", "sv_perspective"):
        if name in frame:
            frame[name] = numbers(frame[name])
    bad = ~(frame["lat"].abs().le(90) & frame["lon"].abs().le(180))
    account.note(
        "sites.csv", "dropped", int(bad.sum()), "the position is no position", list(frame["site"][bad])[:1]
    )
    twice = frame.duplicated("site")
    account.note("sites.csv", "dropped", int(twice.sum()), "the site stands there twice")
    frame = frame.loc[~bad & ~twice].reset_index(drop=True)
    account.note("sites.csv", "kept", len(frame))
    return frame


def _ladders(folder: Path, auditor: str, account: Account) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The ladders in our terms, and as text rows for the join."""
    import pandas as pd

    chosen: dict[str, tuple[str, Path]] = {}
    for path in sorted((folder / "ladders").glob("*_ladder_*.csv")):
        site, _, name = path.stem.partition("_ladder_")
        if site in chosen and name != auditor:
            account.note(path.name, "dropped", 1, f"the ladder of {chosen[site][0]!r} is used for this site")
            continue
        chosen[site] = (name, path)
    parts = []
    for site, (name, path) in chosen.items():
        parts.append(read_csv(path, LADDER_NEEDS, account).assign(site=site, auditor=name))
    if not parts:
        empty = pd.DataFrame(columns=["site", "auditor", *LADDER_NEEDS], dtype=str)
        return _our_terms(empty), empty
    rungs = pd.concat(parts, ignore_index=True).fillna("")
    odd = numbers(rungs["dist_km"]).isna()
    account.note("ladders/", "dropped", int(odd.sum()), "the distance is no number", list(rungs["qid"][odd])[:1])
    twice = rungs.duplicated(["site", "qid"]) & ~odd
    account.note("ladders/", "dropped", int(twice.sum()), "the reference point stands twice in its ladder")
    rungs = rungs.loc[~odd & ~twice].reset_index(drop=True)
    account.note("ladders/", "kept", len(rungs))
    return _our_terms(rungs), rungs


def _our_terms(rungs: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(
        {
            **{name: rungs[name] for name in ("site", "auditor", "band", "tier", "name_en")},
            "name_local": rungs["label_raw"],
            "qid": rungs["qid"],
            "ref_km": numbers(rungs["dist_km"]),
            "referenceability": numbers(rungs["familiarity"]),
        }
    )


def _image_audit(folder: Path, account: Account) -> pd.DataFrame:
    import pandas as pd

    path = folder / "image_audit.csv"
    frame = read_csvs([path] if path.is_file() else [], _IMAGE_NEEDS, account)
    verdict = frame["human_verdict"].str.strip().str.lower()
    unknown = ~verdict.isin(["keep", "exclude", ""])
    account.note(path.name, "dropped", int(unknown.sum()), "the person's verdict is neither keep nor exclude")

    return pd.DataFrame(
        {
            "image": [plain_path(name) for name in frame["image"]],
            "site": frame["site"],
            "ai_usable": truths(frame["ai_usable"]),
            "human_usable": verdict.map({"keep": 1.0, "exclude": 0.0}).astype("float64"),
            "ai_why": frame.get("ai_why", ""),
            "human_reason": frame.get("human_reason", ""),
        }
    )


def _jsonl_frame(folder: Path, pattern: str, account: Account) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame([row for path in sorted(folder.glob(pattern)) for row in read_jsonl(path, account)])


def _optional(folder: Path, name: str, account: Account) -> pd.DataFrame:
    path = folder / name
    return read_csvs([path] if path.is_file() else [], (), account).drop(columns="file")
