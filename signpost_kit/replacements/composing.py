"""From drafts to a group with replacements: whose text is whose, where it is in the picture, and what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from signpost_kit.benchmark.groups import Group, Span
from signpost_kit.geocoding import Place, default_gazetteer
from signpost_kit.replacements.drafts import Draft
from signpost_kit.replacements.matching import Line, assign, difference, joined_lines
from signpost_kit.replacements.validation import Fault, faults_of
from signpost_kit.taxonomy import classify_group

if TYPE_CHECKING:
    from signpost_kit.ocr import TextLine

__all__ = ["Composed", "Lines", "compose"]

Lines = Callable[[Group], "Sequence[TextLine]"]
_SAME = 0.34  # of the letters may differ between a span and the text that a reply gives beside its id
_LONGEST_LOCATION = 80
_ON_LOCATION = frozenset(" .,;:'-()/&")
_NAMED_LINES = 12  # lines of OCR that a fault lists


@dataclass(frozen=True)
class Composed:
    """A reply, joined with the picture it is about."""

    group: Group | None
    """None when it cannot be used."""
    faults: tuple[Fault, ...] = ()
    """What a second question would name; empty: all is well."""
    left_out: tuple[Fault, ...] = ()
    """Faults of chosen spans that were dropped, so that the others can go on."""
    places: tuple[Place | None, ...] = ()


def compose(
    group: Group,
    drafts: Sequence[Draft],
    *,
    chosen: bool = False,
    lines: Lines | None = None,
    polygons: bool = True,
    most: int = 3,
    leave_out: bool = False,
) -> Composed:
    """The group with what the drafts say, or the faults.

    Parameters
    ----------
    chosen
        The spans are the model's; else each span of the group must have one draft.
    lines, polygons, most
        See :func:`signpost_kit.replacements.generate.generate`.
    leave_out
        The last word: chosen spans with faults are dropped if others are left. Spans that were given are never
        dropped, for the picture would keep a text that no variant replaces.
    """
    if not chosen:
        spans, places, faults = _given(group, drafts)
    else:
        spans, places, faults = _chosen(group, drafts, lines, polygons, most)
    if spans:
        judged = replace(group, spans=tuple(spans))
        known = {fault.span for fault in faults}  # a span without a draft, or that is not there: enough said
        faults += [f for f in faults_of(judged, places=places, written=True) if f.span not in known]
    if not faults:
        return Composed(_finished(group, spans, chosen), places=tuple(places))
    bad = {fault.span for fault in faults}
    clean = [i for i in range(len(spans)) if i + 1 not in bad]
    if chosen and leave_out and 0 not in bad and clean:
        kept = [spans[i] for i in clean]
        return Composed(
            _finished(group, kept, chosen), left_out=tuple(faults), places=tuple(places[i] for i in clean)
        )
    return Composed(None, tuple(sorted(faults, key=lambda fault: fault.span)))


def _finished(group: Group, spans: Sequence[Span], chosen: bool) -> Group:
    made = replace(group, spans=tuple(spans))
    return classify_group(made) if chosen else made  # given spans have their tiers already


# -- spans that were given ---------------------------------------------------------------------------------------


def _given(group: Group, drafts: Sequence[Draft]) -> tuple[list[Span], list[Place | None], list[Fault]]:
    owner, faults = _owners(group, drafts)
    spans: list[Span] = []
    places: list[Place | None] = []
    for number, span in enumerate(group.spans, start=1):
        draft = owner.get(number)
        if draft is None:
            faults.append(Fault(number, "", f"the reply has no entry for {span.text!r}"))
            spans.append(replace(span, replacements={}))
            places.append(None)
            continue
        spans.append(replace(span, replacements=dict(draft.replacements), location=_where(draft, span)))
        places.append(_meant(draft))
    return spans, places, faults


def _owners(group: Group, drafts: Sequence[Draft]) -> tuple[dict[int, Draft], list[Fault]]:
    """Span number -> its draft: by id where the text agrees, the others by their text alone."""
    owner: dict[int, Draft] = {}
    loose: list[Draft] = []
    for draft in drafts:
        fits = draft.id is not None and 1 <= draft.id <= len(group.spans) and draft.id not in owner
        if fits and (not draft.text or difference(draft.text, group.spans[draft.id - 1].text) <= _SAME):  # type: ignore[operator]
            owner[int(draft.id or 0)] = draft
        else:
            loose.append(draft)
    free = [number for number in range(1, len(group.spans) + 1) if number not in owner]
    lines = [Line(group.spans[number - 1].text, (), (number,)) for number in free]
    faults: list[Fault] = []
    for draft, found in zip(loose, assign([d.text for d in loose], lines, most=_SAME), strict=True):
        if found is not None:
            owner[free[found]] = draft
        else:
            faults.append(Fault(0, "", f"{draft.text[:40]!r} is none of the texts that were asked for"))
    return owner, faults


# -- spans that the model chose ----------------------------------------------------------------------------------


def _chosen(
    group: Group, drafts: Sequence[Draft], lines: Lines | None, polygons: bool, most: int
) -> tuple[list[Span], list[Place | None], list[Fault]]:
    faults: list[Fault] = []
    if not drafts:
        return [], [], [Fault(0, "", "the model found no writing worth replacing")]
    if len(drafts) > most:
        faults.append(Fault(0, "", f"the reply has {len(drafts)} spans, asked were at most {most}"))
    known = [Line(span.text, span.polygon, confidence=span.confidence) for span in group.spans if span.polygon]
    found = assign([draft.text for draft in drafts], known)
    read: list[Line] = []
    if lines is not None and None in found:
        taken = {known[i].polygon for i in found if i is not None}
        read = [Line(line.text, line.polygon, confidence=line.confidence) for line in lines(group)]
        read = joined_lines([line for line in read if line.polygon not in taken])
        rest = iter(assign([d.text for d, i in zip(drafts, found, strict=True) if i is None], read))
        places_in = [known[i] if i is not None else _at(read, next(rest)) for i in found]
    else:
        places_in = [known[i] if i is not None else None for i in found]
    spans: list[Span] = []
    for number, (draft, line) in enumerate(zip(drafts, places_in, strict=True), start=1):
        spans.append(_span(draft, line))
        if not draft.text or not draft.text.isprintable():
            faults.append(
                Fault(number, "", "it has no text" if not draft.text else "its text is not one plain line")
            )
        elif line is None and polygons:
            faults.append(Fault(number, "", _not_found(draft, [*known, *read])))
        elif line is None and not spans[-1].location:
            faults.append(Fault(number, "", f"it does not say where {draft.text[:40]!r} is in the picture"))
    return spans, [_meant(draft) for draft in drafts], faults


def _at(lines: Sequence[Line], position: int | None) -> Line | None:
    return None if position is None else lines[position]


def _span(draft: Draft, line: Line | None) -> Span:
    """The text as the model reads it: it mends what OCR misread, and the polygon says where that is."""
    return Span(
        text=draft.text,
        polygon=line.polygon if line else (),
        location=_where(draft, None),
        replacements=dict(draft.replacements),
        confidence=line.confidence if line else None,
    )


def _not_found(draft: Draft, lines: Sequence[Line]) -> str:
    read = [line.text for line in lines if len(line.parts) < 2][:_NAMED_LINES]
    shown = ", ".join(repr(text[:40]) for text in read) or "nothing"
    return f"no line that was read in the picture resembles {draft.text[:40]!r}; read were: {shown}"


# -- both --------------------------------------------------------------------------------------------------------


def _where(draft: Draft, span: Span | None) -> str:
    """Where it is, in words: the model's, if they are plain words; an image editor is told them."""
    words = " ".join(draft.location.split())
    plain = all(char.isalnum() or char in _ON_LOCATION for char in words)
    if words and plain and len(words) <= _LONGEST_LOCATION:
        return words
    return span.location if span else ""


def _meant(draft: Draft) -> Place | None:
    """The place that the model names for its adversarial text, as far as the gazetteer knows it."""
    named = ", ".join(part for part in (draft.city, draft.country) if part)
    return default_gazetteer().locate(named) if named else None
