"""How varied a set of replacements is: which places, continents, scripts and lengths come up how often.

A set whose adversarial texts name one city again and again measures that city, not conflict: of one published
model's texts 84.5 % named the same target.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from signpost_kit.fonts import script_of
from signpost_kit.replacements.texts import width
from signpost_kit.replacements.validation import KINDS

if TYPE_CHECKING:
    import pandas as pd

    from signpost_kit.benchmark import Group
    from signpost_kit.geocoding import Place

__all__ = [
    "OTHERS",
    "REPEATED",
    "TEXT_COLUMNS",
    "diversity_summary",
    "repeat_warning",
    "replacement_texts",
    "too_often",
]

REPEATED = 0.10
"""A target that more than this share of the pictures name is named in a warning."""
OTHERS = "all others"
"""The label of the targets that are not listed by name."""
_AT_LEAST = 3  # pictures: two that share a city say nothing
TEXT_COLUMNS = (
    *("dataset", "group_id", "span", "representative", "kind", "original", "text", "script", "original_script"),
    *("length", "original_length", "width_ratio", "name", "country", "continent", "found_by", "writer"),
)
SUMMARY_COLUMNS = ("part", "kind", "label", "texts", "share", "median", "low", "high", "coverage")


def replacement_texts(
    groups: Iterable[Group],
    *,
    writer: str = "gazetteer",
    places: Mapping[str, Sequence[Place | None]] | None = None,
) -> pd.DataFrame:
    """One row per replacement text.

    Parameters
    ----------
    writer
        Who wrote them: a model's name, or `gazetteer`.
    places
        Group id -> per span, the place that the writer says its adversarial text names.

    Returns
    -------
    DataFrame
        dataset, group_id, span (1, 2, ...), representative (the span that decides on the trap), kind, original,
        text, script, original_script, length and original_length (characters), width_ratio (of the replacement to
        the original, in em), and for adversarial texts the place they name: name, country, continent, found_by
        (`gazetteer`: it finds the place in the text itself; `writer`: only the writer says so; empty: no place).
    """
    import pandas as pd

    rows = []
    for group in groups:
        meant = (places or {}).get(group.group_id, ())
        for number, span in enumerate(group.spans, start=1):
            said = meant[number - 1] if number <= len(meant) else None
            for kind in KINDS:
                text = span.replacements.get(kind, "")
                head = (group.dataset, group.group_id, number, span is group.representative, kind)
                scripts = (script_of(text), script_of(span.text))
                sizes = (len(text), len(span.text), width(text) / max(width(span.text), 0.3))
                rows.append((*head, span.text, text, *scripts, *sizes, *_target(kind, text, said), writer))
    return pd.DataFrame(rows, columns=list(TEXT_COLUMNS))


def _target(kind: str, text: str, said: Place | None) -> tuple[str, str, str, str]:
    from signpost_kit.geocoding import default_gazetteer

    if kind != "adversarial" or not text:
        return "", "", "", ""
    found = default_gazetteer().locate(text)
    place = found or said
    if place is None:
        return "", "", "", ""
    return place.name, place.country, place.continent, "gazetteer" if found else "writer"


def diversity_summary(texts: pd.DataFrame, *, top: int = 10) -> pd.DataFrame:
    """The frame behind the diversity table and figure.

    Parameters
    ----------
    texts
        Of :func:`replacement_texts`.
    top
        Targets that are listed by name; the rest is counted together.

    Returns
    -------
    DataFrame
        part (`targets`, `continents`, `scripts`, `lengths`), kind (similar, random, adversarial), label, texts (how
        many), share (of its part and kind, 0..1), and for lengths the median, 5 % and 95 % quantile (low, high) of
        the width against the original's. Targets and continents count one text per picture, the representative
        one; coverage is the share of pictures whose text names a place. Without rows: no rows.
    """
    import numpy as np
    import pandas as pd

    if texts.empty:
        return pd.DataFrame(columns=list(SUMMARY_COLUMNS))
    chosen = _chosen(texts)
    rows = [*_targets(chosen, top), *_continents(chosen)]
    kinds = [str(kind) for kind in texts["kind"]]
    scripts, ratios = [str(script) for script in texts["script"]], texts["width_ratio"].to_numpy(float)
    for kind in KINDS:
        mine = [script for script, of in zip(scripts, kinds, strict=True) if of == kind]
        for script, n in _ordered(Counter(mine)):
            rows.append(("scripts", kind, script, n, n / len(mine), None, None, None, 1.0))
    for kind in KINDS:
        ratio = ratios[np.array(kinds) == kind]
        low, median, high = np.quantile(ratio, (0.05, 0.5, 0.95)) if len(ratio) else (None, None, None)
        rows.append(("lengths", kind, kind, len(ratio), 1.0, median, low, high, 1.0))
    frame = pd.DataFrame(rows, columns=list(SUMMARY_COLUMNS))
    return frame.astype(dict.fromkeys(("share", "median", "low", "high", "coverage"), "float64"))


def target_table(texts: pd.DataFrame) -> pd.DataFrame:
    """How often each target comes up.

    Returns
    -------
    DataFrame
        One row per target of the representative adversarial texts, most frequent first: `target`, `country`,
        `continent`, `groups` (how many point there) and `share` of all groups, 0..1. Groups whose text names no
        known place stand under an empty target. No texts: no rows.
    """
    import pandas as pd

    chosen = _chosen(texts)
    counts = sorted(Counter(chosen).items(), key=lambda item: (-item[1], item[0]))
    rows = [(*place, n, n / len(chosen)) for place, n in counts]
    return pd.DataFrame(rows, columns=["target", "country", "continent", "groups", "share"])


def repeat_warning(texts: pd.DataFrame, *, most: float = REPEATED) -> str:
    """One line when a target comes up too often, or no target is known; empty when all is well.

    Parameters
    ----------
    most
        Share of pictures above which a target is named, if it has at least 3 pictures.
    """
    chosen = _chosen(texts)
    counts = _ordered(Counter(_label(place) for place in chosen if place.name))
    if not counts:
        return "no adversarial text names a place that is known" if chosen else ""
    label, n = counts[0]
    share = n / len(chosen)
    if not too_often(n, share, most=most):
        return ""
    return (
        f"{label} is the target of {n} of {len(chosen)} pictures ({share:.0%}): scores of such a set measure that "
        "place. Keep replacements.varied on, or take another model or seed"
    )


def too_often(n: int, share: float, *, most: float = REPEATED) -> bool:
    """Whether a target of `n` pictures, a `share` of all, comes up too often; one or two pictures say nothing."""
    return n >= _AT_LEAST and share > most


class _Named(NamedTuple):
    name: str
    country: str
    continent: str


def _chosen(texts: pd.DataFrame) -> list[_Named]:
    """What the adversarial text of each picture's representative span names; an empty name: nothing known."""
    mine = texts.loc[(texts["kind"] == "adversarial") & texts["representative"].astype(bool), list(_Named._fields)]
    # A column without any text comes back from a file as NaN.
    return [_Named(*(value if isinstance(value, str) else "" for value in row)) for row in mine.to_numpy(object)]


def _label(place: _Named) -> str:
    return f"{place.name}, {place.country}"


def _ordered(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def _targets(chosen: Sequence[_Named], top: int) -> list[tuple[Any, ...]]:
    if not chosen:
        return []
    order = _ordered(Counter(_label(place) for place in chosen if place.name))
    known = sum(n for _, n in order)
    rows = [*order[:top], (OTHERS, sum(n for _, n in order[top:])), ("", len(chosen) - known)]
    return [_row("targets", label, n, len(chosen), known / len(chosen)) for label, n in rows if n]


def _continents(chosen: Sequence[_Named]) -> list[tuple[Any, ...]]:
    from signpost_kit.geocoding.countries import CONTINENTS

    if not chosen:
        return []
    counts = Counter(place.continent for place in chosen if place.continent)
    known = sum(counts.values()) / len(chosen)
    return [
        _row("continents", name, counts[code], len(chosen), known)
        for code, name in CONTINENTS.items()
        if code != "AN" or counts[code]
    ]


def _row(part: str, label: str, n: int, total: int, coverage: float) -> tuple[Any, ...]:
    return (part, "adversarial", label, n, n / total, None, None, None, coverage)
