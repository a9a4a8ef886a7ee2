"""Which position does a reply give? Every way models were seen to write one, and every way not to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from signpost_kit.parsing.cleaning import without_thinking
from signpost_kit.parsing.declining import error_reason, refusal_reason
from signpost_kit.parsing.pairs import Candidate, Reading, read_positions

__all__ = ["Coordinates", "parse_coordinates"]

_NAN = float("nan")
_SAME_DEGREES = 0.001  # about 100 m: a rounded repetition, or degrees beside decimals


class Coordinates(NamedTuple):
    """What a reply says about the position."""

    lat: float
    """Degrees, north positive; NaN unless status is ok."""
    lon: float
    """Degrees, east positive; NaN unless status is ok."""
    status: str
    """ok, empty, refused, unparseable, out_of_range, or error (an error text stored in place of a reply)."""
    form: str
    """How it was written: json, labelled, hemisphere, dms, degrees, tuple, plain, geojson, wkt, map_link, range."""
    n_candidates: int
    """How many different positions the reply names (within 0.001 degrees they are one)."""
    reason: str
    """Why this reading, in words; "" for a single clear position."""


_LONGEST = 100_000

_NUMBER = r"(-?\d{1,3}(?:\.\d{1,20})?)"
_SIMPLE_JSON = re.compile(
    rf'\s*(?:```(?:json)?\s*)?\{{\s*"lat(?:itude)?"\s*:\s*{_NUMBER}\s*,\s*"(?:lon|lng|long|longitude)"\s*:\s*{_NUMBER}'
    r"\s*(?:,[^{}\d\\<]*)?\}\s*(?:```\s*)?"
)
_SIMPLE_PAIR = re.compile(r"\s*(-?\d{1,3}\.\d{1,20})\s*,\s*(-?\d{1,3}\.\d{1,20})\s*")


def parse_coordinates(text: str | None, *, echo: str | Iterable[Sequence[float]] = ()) -> Coordinates:
    """Read the position a reply gives.

    Accepted: JSON (lat/latitude, lon/lng/long/longitude, nested, numbers as strings, with degree signs and letters,
    broken JSON), labelled values, tuples, plain pairs, degrees-minutes-seconds, decimal commas, Unicode minus,
    hemisphere letters or words before or after (with a negative number: one sign), mojibake, map links, GeoJSON
    points (longitude first, by that format's definition), thinking and prose around. Latitude and longitude are
    never swapped to make a pair fit.

    Of several different positions the one labelled final or answer counts, else the last. A range of degrees is no
    position. 0, 0 counts only where it is written as coordinates (labelled, with decimals or brackets, or as the
    whole reply).

    Parameters
    ----------
    text
        The reply; None counts as empty.
    echo
        The prompt, or the example positions in it: a reply that only repeats one of them gives no answer.

    Returns
    -------
    Coordinates
        Never raises, whatever the text.

    Examples
    --------
    >>> parse_coordinates("Around 48°51'S, 2°21'W.")[:4]
    (-48.85, -2.35, 'ok', 'dms')
    >>> parse_coordinates("I cannot tell where this is.").status
    'refused'
    """
    if not isinstance(text, str) or not text.strip():
        return _nothing("empty", "the reply is empty")
    if not echo:
        for pattern, form in ((_SIMPLE_JSON, "json"), (_SIMPLE_PAIR, "plain")):
            match = pattern.fullmatch(text)
            if match:
                return _settle(float(match[1]), float(match[2]), form, 1, "")
    why = error_reason(text)
    if why:
        return _nothing("error", why)
    answer = without_thinking(text)
    if not answer.strip():
        return _nothing("unparseable", "the reply holds only thinking, no answer")
    if len(answer) > _LONGEST:  # no model writes that much; both ends hold what counts
        answer = f"{answer[: _LONGEST // 2]}\n...\n{answer[-_LONGEST // 2 :]}"
    reading = read_positions(answer)
    return _choose(reading, _examples(echo))


def _choose(reading: Reading, examples: list[tuple[float, float]]) -> Coordinates:
    candidates = [c for c in reading.candidates if not _is_any(c, examples)]
    echoed = len(candidates) < len(reading.candidates)
    own = [c for c in candidates if not _LIKE_EXAMPLE.search(reading.text, max(0, c.start - 48), c.start)]
    if own:
        candidates = own
    elif candidates:
        candidates = [
            c for c in candidates if not _ONLY_EXAMPLE.search(reading.text, max(0, c.start - 48), c.start)
        ]
        echoed = echoed or not candidates
    if not candidates:
        return _without_candidate(reading, echoed)
    different = _different(candidates)
    chosen, reason = candidates[-1], f"the last of {different} different positions" if different > 1 else ""
    if different > 1:
        final = _labelled_final(reading.text, candidates)
        if final is not None:
            chosen, reason = final, f"labelled final or answer, among {different} different positions"
    return _settle(chosen.lat, chosen.lon, chosen.form, different, reason)


def _settle(lat: float, lon: float, form: str, n_candidates: int, reason: str) -> Coordinates:
    if -90 <= lat <= 90 and -180 <= lon <= 180:
        return Coordinates(lat, lon, "ok", form, n_candidates, reason)
    wrong = f"latitude {lat:g}" if not -90 <= lat <= 90 else f"longitude {lon:g}"
    return Coordinates(_NAN, _NAN, "out_of_range", form, n_candidates, f"{wrong} is not on the globe")


def _without_candidate(reading: Reading, echoed: bool) -> Coordinates:
    if echoed:
        return _nothing("unparseable", "only the prompt's example was repeated")
    if reading.has_range:
        return Coordinates(_NAN, _NAN, "unparseable", "range", 0, "a range of degrees, not a position")
    why = refusal_reason(reading.text)
    if why:
        return _nothing("refused", why)
    return _nothing("unparseable", "no pair of coordinates" if reading.n_numbers else "no numbers")


def _nothing(status: str, reason: str) -> Coordinates:
    return Coordinates(_NAN, _NAN, status, "", 0, reason)


def _examples(echo: str | Iterable[Sequence[float]]) -> list[tuple[float, float]]:
    if isinstance(echo, str):
        return [(c.lat, c.lon) for c in read_positions(echo).candidates]
    return [(float(pair[0]), float(pair[1])) for pair in echo]


def _is_any(candidate: Candidate, positions: list[tuple[float, float]]) -> bool:
    return any(abs(candidate.lat - lat) < 1e-6 and abs(candidate.lon - lon) < 1e-6 for lat, lon in positions)


def _different(candidates: list[Candidate]) -> int:
    """Number of different positions; compared in sorted order, so that a long list stays cheap."""
    distinct: dict[tuple[int, int], tuple[float, float]] = {}
    for c in candidates:
        cell = (round(c.lat / _SAME_DEGREES), round(c.lon / _SAME_DEGREES))
        around = ((cell[0] + i, cell[1] + j) for i in (0, -1, 1) for j in (0, -1, 1))
        if not any(_near(distinct.get(place), c) for place in around):
            distinct[cell] = (c.lat, c.lon)
    return len(distinct)


def _near(position: tuple[float, float] | None, candidate: Candidate) -> bool:
    return position is not None and (
        abs(position[0] - candidate.lat) <= _SAME_DEGREES and abs(position[1] - candidate.lon) <= _SAME_DEGREES
    )


_FINAL = re.compile(
    r"(?<![a-z/])(?:final(?:[\s_-]{1,2}(?:best[\s_-])?(?:answers?|guess|coordinates?|location|estimate|prediction|position"
    r"|result|response))?|(?:my[\s_-])?answer|boxed)(?![a-z])"
    r"[\"'\s*_)\]}]{0,6}(?:\([^()]{0,40}\)[\"'\s*_]{0,4})?(?:is\b|are\b|would be\b|[:=>{(\[|]|-\s|(?<=\n))",
    re.IGNORECASE,
)
_LIKE_EXAMPLE = re.compile(
    r"(?:e\.g\.|for example|for instance|example(?: output| format| response| reply| answer)?\s?[:=]|format\s?[:=]"
    r"|in the form(?:at)?|like this\s?:)[\W_]{0,20}(?:(?:lat|latitude|json)[\W_]{0,4})?$",
    re.IGNORECASE,
)
_ONLY_EXAMPLE = re.compile(
    r"(?:example(?: output| format| response| reply| answer)?|format)\s?[:=]"
    r"[\W_]{0,20}(?:(?:lat|latitude|json)[\W_]{0,4})?$",
    re.IGNORECASE,
)
_FINAL_REACH = 300  # characters between the label and its position: a place name often stands between


def _labelled_final(text: str, candidates: list[Candidate]) -> Candidate | None:
    """The candidate after the last label that has one within reach."""
    best: Candidate | None = None
    number = 0
    for label in _FINAL.finditer(text):
        while number < len(candidates) and candidates[number].start < label.end() - 1:
            number += 1
        if number == len(candidates):
            break
        if candidates[number].start - label.end() <= _FINAL_REACH:
            best = candidates[number]
    return best
