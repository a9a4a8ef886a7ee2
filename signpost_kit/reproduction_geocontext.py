"""GeoContext's numbers recomputed from what else it publishes: totals, means, differences, kappa, criterion."""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from typing import Any

import pandas as pd

from signpost_kit.metrics.verification import CLAIM_KM, DECOY_BANDS, discrimination_radius
from signpost_kit.published import published_text
from signpost_kit.reproduction import Claim, Found, claims_of, compare, exactly
from signpost_kit.rounding import Printed, Range, carried, printed
from signpost_kit.stats.split_half import LEGIBLE_FROM, split_half_regimes

__all__ = ["geocontext_claims", "reproduce_geocontext"]

_BASIS, _TEXT = "published", "Text"
_HINT, _VERIFY = "GeoHint", "GeoVerify"
_NEEDS = "Needs the released replies."
_DPRIMES = ("dprime_0.15_0.3", "dprime_0.3_0.7", "dprime_0.7_1.5", "dprime_1.5_3", "dprime_3_6")
_MISSING = {
    "cities": "Needs the released list of sites.",
    "images": "Needs the released list of images.",
    "geohint_responses": "The tables count the 8,342 with a hint and a forced answer only.",
    "geoverify_responses": "Four models × 1,448 trials are 5,792; how many the fifth was asked is not published.",
    "geoverify_trials": "Needs the released trials.",
    "sites_changing_side_per_split": "Needs every baseline reply (split halves).",
    "slope_always_answer_hint": "Needs the distance of every hint.",
    "auditor_kappa_across_models": "Needs the released auditor decisions.",
    "auditor_kappa_across_languages": "Needs the released auditor decisions.",
    "paris_centroid_to_site": "Needs the coordinates of that site.",
}  # fmt: skip
_COLUMNS: tuple[tuple[str, str, Sequence[str], str], ...] = (
    ("geohint_models", _HINT, ("hit_near_pct", "hit_mid_pct", "hit_far_pct"),
     "Replies per band and model are not published."),
    ("geohint_regimes", _HINT, ("n", "no_context_pct", "with_context_pct", "hit_near_pct", "hit_mid_pct",
                                "hit_far_pct", "echo_pct", "uncorrected_pts", "corrected_pts", "corrected_sd"),
     _NEEDS),
    ("geohint_ratio", _HINT, ("n", "ref_km_geomean", "err_km_geomean", "median_ratio"), _NEEDS),
    ("geohint_interventions", _HINT, ("near_pct", "mid_pct", "far_pct", "overall_pct", "p"), _NEEDS),
    ("geohint_slope", _HINT, ("beta", "p", "beta_fine_only"), _NEEDS),
    ("geohint_warn_by_model", _HINT, ("n_pairs", "all_pts", "illegible_pts", "legible_pts"),
     "Needs the released replies; pairs per regime are not published."),
    ("geoverify", _VERIFY, ("false_alarm_pct", "swapped_image_pct", "gray_field_pct", "fa_confidence_median",
                            "fa_confidence_ge_0.8_pct", *_DPRIMES), "Needs the false claims accepted per band."),
)  # fmt: skip
"""Columns that nothing published determines: each goes as one row. Table, section, columns, why."""


def reproduce_geocontext() -> pd.DataFrame:
    """Every published number with what came out, see :func:`signpost_kit.reproduction.compare`.

    Raises
    ------
    DataError
        A published table is damaged.
    """
    facts = {claim.quantity: claim.number for claim in _facts()}
    found = {**_sites(facts), **_audit(facts), **_echoes(facts), **_slopes(facts), **_hints(), **_verify(facts)}
    found |= {name: [Found(None, "", why)] for name, why in _MISSING.items() if name not in found}
    for name, _, columns, why in _COLUMNS:
        found |= {f"{name}: {column}": [Found(None, "", why)] for column in columns}
    return compare(geocontext_claims(), found, missing=_NEEDS)


def geocontext_claims() -> list[Claim]:
    """All published numbers: the text's, what the tables determine of each other, then the other columns."""
    claims = _facts()
    models, echo, slope = (_rows(name) for name in ("geohint_models", "geohint_echo", "geohint_slope"))
    for column, unit in (("n", "count"), ("hit_pct", "percent"), ("echo_pct", "percent")):
        claims += [_claim(f"{column}_{r['model']}", r[column], unit, _HINT) for r in models]
    claims += [_claim(f"echo_{key}_all", echo[-1][key], unit, _HINT)
               for key, unit in (("n_all", "count"), ("all_pct", "percent"))]  # fmt: skip
    claims += [_claim("slope_n_all", slope[0]["n"], "count", _HINT)]
    for first, _ in _pairs():
        claims.append(_claim(f"{_name(first)}_delta", first["delta_pts"], "points", _HINT))
    claims += [_claim("warn_pairs", _pairs()[2][0]["n_pairs"], "count", _HINT)]
    for r in _rows("geoverify"):
        claims.append(_claim(f"hit_{r['model']}", r["hit_pct"], "percent", _VERIFY))
    for r in _rows("geoverify"):
        for end in ("nearest", "farthest"):
            claims.append(_claim(f"criterion_{end}_{r['model']}", r[f"criterion_{end}"], "c", _VERIFY))
    for r in _rows("geoverify"):
        claims.append(_claim(f"delta1_{r['model']}", str(_band(r["delta1_band"])), "rank of the band", _VERIFY))
    for name, section, columns, _ in _COLUMNS:
        for column in columns:
            written = sum(bool(row[column]) for row in _rows(name))
            claims.append(Claim(f"{name}: {column}", Printed(math.nan, 0.0), "", name, section, written))
    for column in ("near_pct", "mid_pct", "far_pct", "all_pct", "n_all"):
        n = len(echo) - (column in ("all_pct", "n_all"))
        claims.append(Claim(f"geohint_echo: {column}", Printed(math.nan, 0.0), "", "geohint_echo", _HINT, n))
    n = len(slope) - 1
    claims.append(Claim("geohint_slope: n", Printed(math.nan, 0.0), "count", "geohint_slope", _HINT, n))
    return claims


def _facts() -> list[Claim]:
    return [*claims_of("geocontext/aggregate_facts", _TEXT), *claims_of("geocontext/quoted_facts", _TEXT)]


def _rows(name: str) -> list[dict[str, str]]:
    return [
        {str(k): str(v) for k, v in row.items()} for row in published_text(f"geocontext/{name}").to_dict("records")
    ]


def _claim(quantity: str, text: str, unit: str, section: str) -> Claim:
    return Claim(quantity, printed(text, exact=unit.startswith(("count", "rank"))), unit, section, section)


def _said(range_: Range, how: str, bound: str = "") -> list[Found]:
    return [Found(range_, _BASIS, how, bound)]


def _sum(*parts: Printed) -> Range:
    return carried(lambda *values: sum(values), *parts)


def _weighted(weights: Sequence[float], shares: Sequence[Printed]) -> Range:
    """Mean of rounded numbers with exact weights."""
    total = sum(weights)
    return carried(lambda *values: sum(w * v for w, v in zip(weights, values, strict=True)) / total, *shares)


def _sites(facts: dict[str, Printed]) -> dict[str, list[Found]]:
    splits = inspect.signature(split_half_regimes).parameters["n_splits"].default
    legible, illegible, sites = (facts[name].value for name in ("legible_sites", "illegible_sites", "sites"))
    return {
        "sites": _said(exactly(legible + illegible), f"{illegible:g} illegible and {legible:g} legible."),
        "legible_sites": _said(exactly(sites - illegible), f"{sites:g} − {illegible:g}."),
        "illegible_sites": _said(exactly(sites - legible), f"{sites:g} − {legible:g}."),
        "hand_picked_sites": _said(exactly(sites - facts["automatic_sites"].value), "All less the automatic."),
        "automatic_sites": _said(exactly(sites - facts["hand_picked_sites"].value), "All less the hand-picked."),
        "verify_tolerance": _said(exactly(CLAIM_KM), "A definition: what the kit uses."),
        "regime_threshold": _said(exactly(100 * LEGIBLE_FROM), "A definition: what the kit uses."),
        "split_half_splits": _said(exactly(splits), "A definition: what the kit uses."),
    }  # fmt: skip


def _audit(facts: dict[str, Printed]) -> dict[str, list[Found]]:
    """The image audit: its counts, and whether any table of keeps and excludes has the printed kappa."""
    n, agree = int(facts["image_audit_n"].value), int(facts["image_audit_agree"].value)
    only_human = int(facts["image_audit_human_excludes_model_accepts"].value)
    only_model = int(facts["image_audit_model_rejects_human_keeps"].value)
    target = facts["image_audit_kappa"].value
    kappas = {keep: _kappa(keep, only_human, only_model, agree - keep) for keep in range(agree + 1)}
    nearest = min(kappas, key=lambda keep: abs(kappas[keep] - target))
    both = max(nearest, agree - nearest), min(nearest, agree - nearest)
    return {
        "image_audit_n": _said(exactly(agree + only_human + only_model), f"{agree} + {only_human} + {only_model}."),
        "image_audit_agree": _said(exactly(n - only_human - only_model), f"{n} − {only_human} − {only_model}."),
        "image_audit_human_excludes_model_accepts": _said(exactly(n - agree - only_model), f"{n} less the others."),
        "image_audit_model_rejects_human_keeps": _said(exactly(n - agree - only_human), f"{n} less the others."),
        "image_audit_agreement": _said(exactly(100 * agree / n), f"{agree} of {n}."),
        "image_audit_kappa": _said(
            exactly(kappas[nearest]),
            f"The nearest of all tables with {only_human} + {only_model} in dispute: {both[0]} + {both[1]} agree.",
            "possible",
        ),
    }  # fmt: skip


def _kappa(keep: int, first_only: int, second_only: int, exclude: int) -> float:
    """Cohen's kappa of a 2 x 2 table."""
    n = keep + first_only + second_only + exclude
    observed = (keep + exclude) / n
    first, second = (exclude + first_only) / n, (exclude + second_only) / n
    chance = first * second + (1 - first) * (1 - second)
    return (observed - chance) / (1 - chance) if chance < 1 else math.nan


def _echoes(facts: dict[str, Printed]) -> dict[str, list[Found]]:
    out: dict[str, list[Found]] = {}
    for regime in ("illegible", "legible"):
        rows = [row for row in _rows("geohint_regimes") if row["regime"] == regime]
        n = [float(row["n"]) for row in rows]
        echoed = facts[f"echo_{regime}"].value
        out[f"contexted_responses_{regime}"] = _said(exactly(sum(n)), "Sum over the five models.")
        share = _weighted(n, [printed(row["echo_pct"]) for row in rows])
        out[f"echo_{regime}"] = _said(
            Range(*(part * sum(n) / 100 for part in share)), "Echo rates of the five models times their replies."
        )
        out[f"echo_{regime}_share"] = _said(exactly(100 * echoed / sum(n)), f"{echoed:g} of {sum(n):g}.")
    table = {row["tier"]: row for row in _rows("geohint_echo")}
    ends = printed(table["high"]["all_pct"]), printed(table["low"]["all_pct"])
    out["echo_tier_difference"] = _said(carried(lambda a, b: a - b, *ends), f"{ends[0].text} − {ends[1].text}.")
    bands = printed(table["all"]["near_pct"]), printed(table["all"]["far_pct"])
    out["echo_band_difference"] = _said(carried(lambda a, b: a - b, *bands), f"{bands[0].text} − {bands[1].text}.")
    tiers = [row for name, row in table.items() if name != "all"]
    n = [float(row["n_all"]) for row in tiers]
    out["echo_n_all_all"] = _said(exactly(sum(n)), "Sum over the tiers.")
    out["echo_all_pct_all"] = _said(
        _weighted(n, [printed(row["all_pct"]) for row in tiers]), "Mean over the tiers by their replies."
    )
    return out


def _slopes(facts: dict[str, Printed]) -> dict[str, list[Found]]:
    rows = {row["subset"]: row for row in _rows("geohint_slope")}
    beta, always = printed(rows["all"]["beta"]), facts["slope_always_answer_hint"]
    parts = [printed(rows[name]["n"], exact=True) for name in ("illegible", "legible")]
    return {
        "slope_share_of_hint": _said(
            carried(lambda b, a: 100 * b / a, beta, always), f"{beta.text} / {always.text}."
        ),
        "slope_factor_05_to_6km": _said(carried(lambda b: 10 ** (5.5 * b), beta), f"10^(5.5 × {beta.text})."),
        "slope_n_all": _said(_sum(*parts), "Illegible and legible."),
    }


def _pairs() -> list[tuple[dict[str, str], dict[str, str]]]:
    """Rows of one intervention in one regime: with the plain schema, and with the changed one."""
    rows = _rows("geohint_interventions")
    return list(zip(rows[::2], rows[1::2], strict=True))


def _name(row: dict[str, str]) -> str:
    return f"{row['intervention']}_{row['regime']}"


def _hints() -> dict[str, list[Found]]:
    """What the tables of GeoHint say of each other."""
    out: dict[str, list[Found]] = {}
    for row in _rows("geohint_models"):
        parts = [r for r in _rows("geohint_regimes") if r["model"] == row["model"]]
        n = [float(r["n"]) for r in parts]
        how = "Its two regimes by their replies."
        out[f"n_{row['model']}"] = _said(exactly(sum(n)), "Its two regimes.")
        out[f"hit_pct_{row['model']}"] = _said(_weighted(n, [printed(r["with_context_pct"]) for r in parts]), how)
        out[f"echo_pct_{row['model']}"] = _said(_weighted(n, [printed(r["echo_pct"]) for r in parts]), how)
    for plain, changed in _pairs():
        before, after = printed(plain["overall_pct"]), printed(changed["overall_pct"])
        out[f"{_name(plain)}_delta"] = _said(
            carried(lambda b, a: a - b, before, after),
            f"{after.text} − {before.text}, of all replies and not of pairs.",
        )
    warn = _rows("geohint_warn_by_model")
    n = [float(row["n_pairs"]) for row in warn]
    out["warn_all_delta"] += _said(
        _weighted(n, [printed(row["all_pts"]) for row in warn]), "The five models by their pairs."
    )
    out["warn_pairs"] = _said(exactly(sum(n)), "Sum over the five models.")
    out["building_level_pairs"] = _said(exactly(sum(n)), "Pairs of the warning over the five models.")
    facts = {claim.quantity: claim.number for claim in _facts()}
    levels = facts["building_level_forced"], facts["building_level_warn"]
    out["building_level_delta"] = _said(
        carried(lambda b, a: a - b, *levels), f"{levels[1].text} − {levels[0].text}."
    )
    return out


def _verify(facts: dict[str, Printed]) -> dict[str, list[Found]]:
    """Hit rates from counts, the criterion from H and d', and the nearest band with d' of 1."""
    totals = {
        claim.quantity.removeprefix("signals_"): int(claim.unit.removeprefix("of "))
        for claim in _facts()
        if claim.quantity.startswith("signals_")
    }
    hits = {name: facts[f"signals_{name}"].value for name in totals}
    models = [name for name in totals if name != "pooled"]
    out = {"signals_pooled": _said(exactly(sum(hits[m] for m in models)), "Sum over the five models.")}
    for row in _rows("geoverify"):
        name = row["model"]
        n, k = totals[name], hits[name]
        out[f"hit_{name}"] = _said(exactly(100 * k / n), f"{k:g} of {n}.")
        if name != "pooled":
            out[f"signals_{name}"] = _said(
                Range(*(v * n / 100 for v in carried(float, printed(row["hit_pct"])))),
                f"{row['hit_pct']} % of {n}.",
            )
        for end, column in (("nearest", _DPRIMES[0]), ("farthest", _DPRIMES[-1])):
            out[f"criterion_{end}_{name}"] = _said(
                _criterion(k, n, printed(row[column])),
                f"d′/2 − z(H) with d′ = {row[column]} and H of {k:g} in {n}, log-linear correction.",
            )
        band = discrimination_radius([float(row[column]) for column in _DPRIMES])
        out[f"delta1_{name}"] = _said(
            exactly(_rank(band)), f"The nearest band with d′ of 1 or more: {band or 'none'} (6: none)."
        )
    return out


def _criterion(hits: float, n: int, dprime: Printed) -> Range:
    """c = -(z(H) + z(F)) / 2 with z(F) = z(H) - d'."""
    from scipy.special import ndtri

    z = float(ndtri((hits + 0.5) / (n + 1)))
    return carried(lambda d: d / 2 - z, dprime)


def _rank(band: str | None) -> int:
    return DECOY_BANDS.index(band) + 1 if band is not None else len(DECOY_BANDS) + 1


def _band(text: str) -> int:
    """`0.7-1.5` is the third band; `none` comes after the last."""
    known: dict[Any, int] = {
        tuple(float(edge) for edge in name.removesuffix("km").split("-")): place + 1
        for place, name in enumerate(DECOY_BANDS)
    }
    return len(DECOY_BANDS) + 1 if text == "none" else known[tuple(float(edge) for edge in text.split("-"))]
