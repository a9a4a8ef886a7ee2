"""Reference points from Wikidata: candidates around every site, drawn by band, audited, screened."""

from __future__ import annotations

import functools
import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from signpost_kit.errors import ConfigError, DataError
from signpost_kit.files import hash_bytes
from signpost_kit.ladder.around import Around, AroundSource, Entity
from signpost_kit.ladder.audit import Audited, Name, audit_names, check_auditor
from signpost_kit.ladder.decisions import CONTENTIOUS, POINT, Decision, DecisionLog, read_decisions
from signpost_kit.ladder.draw import POINT_COLUMNS

if TYPE_CHECKING:
    import pandas as pd

    from signpost_kit.hints.plan import HintSite
    from signpost_kit.models.base import Provider
    from signpost_kit.profile_context import Ladder
    from signpost_kit.run import Run

__all__ = ["CANDIDATE_COLUMNS", "audit_candidates", "audited_points", "candidates", "photographable"]

CANDIDATE_COLUMNS = (
    *("site", "city", "country", "qid", "name_en", "name_local", "lat", "lon", "ref_km", "kind", "kinds"),
    "sitelinks",
)
EDGES_KM = (0.0, 0.5, 1.5, 3.0, 6.0)
"""Candidates are drawn band by band, so that the near ones do not drown: most of a disc lies at its rim."""
FOLDER, DECISIONS, CONTENTIOUS_FILE = "ladders", "decisions.jsonl", "contentious.jsonl"
_log = logging.getLogger(__name__)


@functools.cache
def photographable() -> Mapping[str, str]:
    """The sixteen kinds of places that a site may be: name -> Wikidata class."""
    from signpost_kit.strict_yaml import read_yaml

    return {
        str(name): str(qid) for name, qid in read_yaml(Path(__file__).with_name("photographable.yml"))[0].items()
    }


def candidates(
    sites: Sequence[HintSite],
    options: Ladder,
    *,
    around: Mapping[str, Around] | None = None,
    progress: bool = False,
) -> pd.DataFrame:
    """Entities within `options.radius_km` of every site, at most `options.per_band` per distance band.

    Of a band that holds more, as many are drawn at random by seed, never by distance or by sitelinks. Entities
    without any name are left out.

    Parameters
    ----------
    around
        Language of the local names -> an open service (tests); None: opened as the options say.

    Returns
    -------
    DataFrame
        :data:`CANDIDATE_COLUMNS`, by site and qid; `kinds` are ids divided by blanks.
    """
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for language, members in _by_language(sites, options).items():
        service = around[language] if around is not None else _open(options, language)
        try:
            for site in members:
                found = service.entities(site.lat, site.lon, options.radius_km)
                if progress:
                    _log.info("%s: %d entities within %g km", site.site, len(found), options.radius_km)
                rows += _drawn(site, found, options)
        finally:
            if around is None:
                service.close()
    frame = pd.DataFrame(rows, columns=list(CANDIDATE_COLUMNS))
    rank = {site.site: i for i, site in enumerate(sites)}
    order = frame.assign(_site=frame["site"].map(rank)).sort_values(["_site", "qid"], kind="stable").index
    return frame.loc[order].reset_index(drop=True)


def _open(options: Ladder, language: str) -> Around:
    source = AroundSource(contact=options.contact, language=language, url=options.url)
    return Around(source, interval_s=options.interval_s)


def _by_language(sites: Sequence[HintSite], options: Ladder) -> dict[str, list[HintSite]]:
    from signpost_kit.geocoding.countries import languages_of

    found: dict[str, list[HintSite]] = {}
    for site in sites:
        spoken = [options.language] if options.language else list(languages_of(site.country))
        found.setdefault(next(iter(spoken), "en"), []).append(site)
    return found


def _drawn(site: HintSite, found: Iterable[Entity], options: Ladder) -> list[dict[str, Any]]:
    from signpost_kit.geo import haversine_km

    named = [entity for entity in found if entity.name_en or entity.name_local]
    if not named:
        return []
    km = np.round(haversine_km(site.lat, site.lon, [e.lat for e in named], [e.lon for e in named]), 3)
    band = np.searchsorted(EDGES_KM[1:], km, side="right")
    lots = [hash_bytes(f"candidate|{options.seed}|{site.site}|{e.qid}".encode()) for e in named]
    taken: dict[int, int] = {}
    rows = []
    for i in sorted(range(len(named)), key=lots.__getitem__):
        place = min(int(band[i]), len(EDGES_KM) - 2)
        taken[place] = taken.get(place, 0) + 1
        if taken[place] > options.per_band:
            continue
        entity = named[i]
        rows.append(
            {
                **{"site": site.site, "city": site.city, "country": site.country, "qid": entity.qid},
                **{"name_en": entity.name_en, "name_local": entity.name_local or entity.name_en},
                **{"lat": entity.lat, "lon": entity.lon, "ref_km": float(km[i])},
                **{"kind": entity.kind, "kinds": " ".join(entity.kinds), "sitelinks": entity.sitelinks},
            }
        )
    return rows


def audit_candidates(
    frame: pd.DataFrame,
    options: Ladder,
    folder: Path,
    store: Any,
    *,
    evaluated: Collection[str] = (),
    auditor: str | Mapping[str, Provider] | None = None,
    **asking: Any,
) -> pd.DataFrame:
    """Have candidates audited and screened; which are usable, and why the others are not.

    Parameters
    ----------
    frame
        Of :func:`candidates`.
    folder
        Where decisions.jsonl and contentious.jsonl are kept.
    store
        The run's ReplyStore.
    evaluated
        Models that must not be the auditor; kept decisions of theirs do not count either.
    auditor
        None: `options.auditor`. {name: provider} for tests.
    asking
        As for :func:`signpost_kit.ladder.audit.audit_names`.

    Returns
    -------
    DataFrame
        `frame` with auditor, usable, referenceability (NaN unless usable), contentious, why, and status: usable,
        unusable, contentious, undecided.

    Raises
    ------
    ConfigError, ModelError
        See :func:`~signpost_kit.ladder.audit.check_auditor` and audit_names.
    """
    given = options.auditor if auditor is None else auditor
    if not given:
        raise ConfigError(
            "context.ladder.auditor is missing: name the model of words that says which places people refer to, "
            "e.g. --set context.ladder.auditor=NAME (signpost models lists them)"
        )
    check_auditor(given if isinstance(given, str) else next(iter(given)), evaluated)
    kept = _kept(options, evaluated)
    names = _names(frame)
    common = {"store": store, "batch_size": options.batch_size, **asking}
    most = options.max_cost_usd
    points = audit_names(
        [name for name in names if name.qid not in kept],
        given,
        log=DecisionLog(folder / DECISIONS),
        kind=POINT,
        max_cost_usd=most,
        **common,
    )
    decisions = kept | points.decisions
    screened = Audited()
    if options.contentious:
        left = [_renamed(name, decisions[name.qid]) for name in names if _usable(decisions.get(name.qid))]
        screened = audit_names(
            left,
            given,
            log=DecisionLog(folder / CONTENTIOUS_FILE),
            kind=CONTENTIOUS,
            max_cost_usd=None if most is None else max(0.0, most - points.cost_usd),
            **common,
        )
    undecided = points.undecided | screened.undecided
    return _judged(frame, decisions, screened.decisions, undecided)


def audited_points(run: Run, sites: Sequence[HintSite]) -> pd.DataFrame:
    """Usable points around a run's sites, columns POINT_COLUMNS; the table `candidates` has all of them.

    Raises
    ------
    ConfigError
        No auditor or contact, or the auditor is evaluated.
    DataError
        Wikidata cannot be reached, or no candidate is usable.
    ModelError
        The auditor was stopped; what it decided is kept: run again.
    """
    from signpost_kit.ladder.checks import check_ladder

    check_ladder(run.profile)
    options, asking = run.profile.context.ladder, run.profile.evaluation
    evaluated = () if run.profile.context.respondents else tuple(run.profile.models)
    frame = candidates(sites, options, progress=True)
    with run.store() as store:
        judged = audit_candidates(
            frame,
            options,
            run.dir / FOLDER,
            store,
            evaluated=evaluated,
            retry=tuple({"error", *run.retry}),
            timeout_s=asking.timeout_s,
            concurrency=asking.concurrency,
        )
    run.save_table("candidates", judged)
    usable = usable_points(judged)
    if usable.empty:
        raise DataError(
            f"none of {len(judged)} candidates around {len(sites)} sites is usable: tables/candidates.csv has the "
            "reasons"
        )
    return usable


def usable_points(judged: pd.DataFrame) -> pd.DataFrame:
    """The usable ones of :func:`audit_candidates`, columns POINT_COLUMNS."""
    return judged.loc[judged["status"] == "usable", list(POINT_COLUMNS)].reset_index(drop=True)


def _kept(options: Ladder, evaluated: Collection[str]) -> dict[str, Decision]:
    """Decisions that the user brings along, of auditors that are not evaluated."""
    if not options.decisions:
        return {}
    found = read_decisions(Path(options.decisions))
    usable = [d for d in found if d.auditor not in set(evaluated)]
    if len(usable) < len(found):
        _log.warning("%d kept decisions are by evaluated models: asked anew", len(found) - len(usable))
    complete = [d for d in usable if d.usable is False or d.referenceability is not None]
    return {d.qid: d for d in complete}


def _names(frame: pd.DataFrame) -> list[Name]:
    """Every candidate once, whatever sites it is near to, in an order that the sites do not change."""
    found: dict[str, Name] = {}
    for row in frame.to_dict("records"):
        label = str(row["name_en"] or row["name_local"])
        name = Name(
            qid=str(row["qid"]),
            label=label,
            local=str(row["name_local"]) if row["name_local"] != label else "",
            kind=str(row["kind"]),
            city=str(row["city"]),
            country=str(row["country"]),
        )
        found.setdefault(name.qid, name)
    return list(found.values())


def _usable(decision: Decision | None) -> bool:
    return decision is not None and bool(decision.usable) and decision.referenceability is not None


def _renamed(name: Name, decision: Decision) -> Name:
    """Under the English name that will be shown."""
    english = decision.name_en or name.label
    return replace(name, label=english, local=name.local or (name.label if name.label != english else ""))


def _judged(
    frame: pd.DataFrame,
    decisions: Mapping[str, Decision],
    screened: Mapping[str, Decision],
    undecided: Mapping[str, str],
) -> pd.DataFrame:
    rows = []
    for qid, name_en in zip(frame["qid"], frame["name_en"], strict=True):
        point, screen = decisions.get(qid), screened.get(qid)
        if point is None or qid in undecided:
            rows.append((name_en, "", np.nan, np.nan, np.nan, undecided.get(qid, "not asked"), "undecided"))
            continue
        status = "usable" if _usable(point) else "unusable"
        contentious = np.nan if screen is None else float(bool(screen.contentious))
        why = point.why
        if status == "usable" and screen is not None and screen.contentious:
            status, why = "contentious", screen.why
        value = np.nan if point.referenceability is None else float(point.referenceability)
        shown = point.name_en or name_en
        rows.append((shown, point.auditor, float(bool(point.usable)), value, contentious, why, status))
    columns = ["name_en", "auditor", "usable", "referenceability", "contentious", "why", "status"]
    out = frame.copy()
    for i, column in enumerate(columns):
        out[column] = [row[i] for row in rows]
    return out
