"""GeoHint's released answers, joined with the ladders: how far the hint was, its band and tier, echoed or not."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from signpost_kit.benchmark.geocontext.account import Account
from signpost_kit.benchmark.geocontext.tables import numbers, plain_path, truths

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ANSWER_NEEDS", "KEYS", "LADDER_NEEDS", "NO_CONTEXT", "band_of_key", "context_key", "join_answers"]

NO_CONTEXT = "none"
"""The context of a question without a hint."""
KEYS = ("site", "path", "model", "schema", "lang", "context")
"""What identifies an answer."""
ANSWER_NEEDS = (
    *("site", "model", "schema", "lang", "context", "path", "city", "area", "place", "conf_area", "conf_fine"),
    *("error_km", "resolved_level", "resolved_label", "hit"),
)
LADDER_NEEDS = ("band", "tier", "name_en", "label_raw", "qid", "dist_km", "familiarity")
_CONTEXT = re.compile(r"(high|mid|low)_(\d+)_(\d+)km_(Q\d+)")


def context_key(tier: str, band: str, qid: str) -> str:
    """The key of a hint: "high", "0.5-1.5km", "Q2981" -> "high_05_15km_Q2981"."""
    return f"{tier}_{band.replace('.', '').replace('-', '_')}_{qid}"


def band_of_key(key: str) -> tuple[str, str, str] | None:
    """(tier, band, qid) of a context key, None for `none` and for what is no key.

    >>> band_of_key("high_05_15km_Q2981")
    ('high', '0.5-1.5km', 'Q2981')
    """
    found = _CONTEXT.fullmatch(key)
    if not found:
        return None
    near, far = (f"{part[0]}.{part[1:]}" for part in (found[2], found[3]))
    return found[1], f"{near}-{far}km", found[4]


def join_answers(
    answers: pd.DataFrame, ladders: pd.DataFrame, sites: pd.DataFrame, account: Account | None = None
) -> pd.DataFrame:
    """The `answers` frame.

    Parameters
    ----------
    answers
        Rows of answers_judged.csv, text cells, columns :data:`ANSWER_NEEDS` (and `file`, when several were read).
    ladders
        Rows of all ladders with a column `site`, columns :data:`LADDER_NEEDS`.
    sites
        Rows of sites.csv: the true city, which the stricter echo leaves out of what must match.
    account
        Where what is left out or ambiguous is counted.

    Returns
    -------
    One row per answer: site, path, model, schema, lang, context ("none" without a hint), qid, ref_name, ref_km,
    band, tier (of the hint; "" and NaN without one), city (true), answer_city, area, place, conf_area, conf_fine,
    level (place, area, city, or "" when nothing was resolved), label, error_km (NaN without an answer), hit
    (recomputed), hit_released, echo, echo_study, ambiguous (another answer to the same question disagrees), status
    (ok, empty).

    Rows whose hint is not in the site's ladder have no distance: they are left out and counted.
    """
    import pandas as pd

    account = account or Account()
    file = answers["file"].iloc[0] if len(answers) and answers.get("file") is not None else "answers"
    frame = answers.reset_index(drop=True).copy()
    if "file" not in frame:
        frame["file"] = file
    frame["path"] = [plain_path(text) for text in frame["path"]]
    frame["context"] = frame["context"].replace("", NO_CONTEXT)
    hinted = _with_hint(frame, ladders, account)
    cities = dict(zip(sites["site"], sites["city"], strict=False)) if len(sites) else {}
    city = hinted["site"].map(cities).fillna("")
    level = hinted["resolved_level"].str.strip().str.lower()
    error = numbers(hinted["error_km"])
    said = (hinted[["city", "area", "place"]].apply(lambda column: column.str.strip()) != "").any(axis=1)
    out = pd.DataFrame(
        {
            **{name: hinted[name] for name in ("site", "path", "model", "schema", "lang", "context")},
            **{name: hinted[name] for name in ("qid", "ref_name", "ref_km", "band", "tier")},
            "city": city,
            "answer_city": hinted["city"],
            "area": hinted["area"],
            "place": hinted["place"],
            "conf_area": numbers(hinted["conf_area"]),
            "conf_fine": numbers(hinted["conf_fine"]),
            "level": level,
            "label": hinted["resolved_label"],
            "error_km": error,
            "hit": _hits(error, level),
            "hit_released": truths(hinted["hit"]),
            **_echoes(hinted, city),
            "ambiguous": _ambiguous(hinted, account),
            "status": np.where(said, "ok", "empty"),
        }
    )
    _compare(out, hinted, account)
    for name, part in hinted.groupby("file", sort=False):
        account.note(str(name), "kept", len(part))
    return out


def _with_hint(frame: pd.DataFrame, ladders: pd.DataFrame, account: Account) -> pd.DataFrame:
    """Add qid, ref_name, ref_km, band, tier from the ladder; leave out hints that it does not have."""
    keys = [band_of_key(text) for text in frame["context"]]
    frame = frame.assign(qid=[key[2] if key else "" for key in keys])
    plain = frame["context"] == NO_CONTEXT
    rungs = ladders.drop_duplicates(["site", "qid"]).set_index(["site", "qid"])
    found = rungs.reindex(list(zip(frame["site"], frame["qid"], strict=True)))
    known = found["dist_km"].notna().to_numpy()
    have = frame["site"].isin(set(ladders["site"])).to_numpy()
    odd = ~plain & np.array([key is None for key in keys])
    for mask, reason in (
        (odd, "the context is neither a hint nor 'none'"),
        (~plain & ~odd & ~have, "there is no ladder of the site"),
        (~plain & ~odd & have & ~known, "the reference point is not in the site's ladder"),
    ):
        for name, part in frame.loc[mask].groupby("file", sort=False):
            points = part.drop_duplicates(["site", "context"])
            example = f"{points['site'].iloc[0]} {points['context'].iloc[0]}; {len(points)} reference points"
            account.note(str(name), "dropped", len(part), reason, example)
    name = found["name_en"].where(found["name_en"].fillna("") != "", found["label_raw"]).fillna("")
    frame = frame.assign(
        ref_name=name.to_numpy(),
        ref_km=numbers(found["dist_km"]).to_numpy(),
        band=found["band"].fillna("").to_numpy(),
        tier=found["tier"].fillna("").to_numpy(),
    )
    return frame.loc[(plain | known)].reset_index(drop=True)


def _hits(error: pd.Series, level: pd.Series) -> np.ndarray:
    from signpost_kit.metrics.hints import hit

    return hit(error.to_numpy(), level.to_numpy(dtype=object))


def _echoes(frame: pd.DataFrame, city: pd.Series) -> dict[str, np.ndarray]:
    from signpost_kit.metrics.echoes import echo, echo_study

    names = [text or None for text in frame["ref_name"]]
    return {
        "echo": echo(frame["area"], frame["place"], names, list(city)),
        "echo_study": echo_study(frame["area"], frame["place"], names),
    }


def _ambiguous(frame: pd.DataFrame, account: Account) -> np.ndarray:
    """Rows that share their key with another row that answers otherwise."""
    torn = frame.duplicated(list(KEYS), keep=False)
    for name, part in frame.loc[torn].groupby("file", sort=False):
        keys = part.drop_duplicates(list(KEYS))
        first = keys.iloc[0]
        reason = f"{len(keys)} question(s) have several answers that differ"
        account.note(
            str(name), "ambiguous", len(part), reason, f"{first['site']} {first['model']} {first['context']}"
        )
    return torn.to_numpy()


def _compare(out: pd.DataFrame, frame: pd.DataFrame, account: Account) -> None:
    """Count rows whose released hit is not the one that follows from error and level."""
    other = out["hit_released"].notna() & (out["hit"] != out["hit_released"]) & out["error_km"].notna()
    for name, part in frame.loc[other].groupby("file", sort=False):
        account.note(str(name), "differs", len(part), "the released hit is not error_km < 1 at place or area level")
    silent = out["error_km"].isna()
    for name, part in frame.loc[silent].groupby("file", sort=False):
        account.note(str(name), "missing", len(part), "the answer has no distance", part["site"].iloc[0])
