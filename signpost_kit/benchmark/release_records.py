"""One group as the lines of the SIGNPOST release, and back without loss.

The release's own keys say all that they can. What they cannot say (polygons, confidences, place names, how a
picture was made) stands in one further object of the same line, `signpost_kit`, and only where it differs from what
a reader would conclude without it. Keys of a line that this kit does not know are kept in
`generation[<Variant>]["release"]` and written again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from signpost_kit.benchmark.groups import Group, Span, Trap
from signpost_kit.benchmark.release_lines import image_stem, position_of
from signpost_kit.errors import DataError
from signpost_kit.files import safe_name
from signpost_kit.frames import EDITED_VARIANTS, TIERS

__all__ = [
    "KINDS",
    "attack_line",
    "cache_key",
    "group_of",
    "label_line",
    "original_name",
    "picture_line",
    "spans_of",
    "trap_from_cache",
    "variant_of",
    "with_original_name",
]

KINDS: tuple[str, ...] = ("similar", "random", "adversarial")
_KEPT = "release"
"""Key of `generation[<Variant>]` that holds what a line said beyond this kit's own fields."""
_PLACE_NAMES = ("city", "admin", "country")
_KIT = "signpost_kit"
"""Key of a line that holds what only this kit says."""
_SINGLE_KEYS = ("original_text", "text_location", "attacks")  # at the top of older lines, instead of `texts`

Cache = Mapping[str, "dict[str, Any] | None"]
Line = dict[str, Any]


def original_name(group: Group) -> str:
    """The file name of the group's Original in the release's layout."""
    kept = _kept(group, "Original").get("original_filename")
    return str(kept) if kept else _plain_name(group)


def _plain_name(group: Group) -> str:
    path = group.images.get("Original", "")
    dot = path.rpartition(".")[2].lower()
    suffix = f".{dot}" if path and image_stem(path) != path.rpartition("/")[2] else ".png"
    return safe_name(group.group_id) + suffix


def with_original_name(group: Group, name: str) -> Group:
    """The group with another file name for its Original in the release's layout."""
    made = dict(group.generation.get("Original", {}))
    made[_KEPT] = {**_kept(group, "Original"), "original_filename": name}
    return replace(group, generation={**group.generation, "Original": made})


def cache_key(text: str) -> str:
    """The geocoding cache's key of a text."""
    return text.strip().lower()


def variant_of(attack_type: Any) -> str:
    """The variant that a line's attack_type names, in any case; empty if none."""
    return next((v for v in EDITED_VARIANTS if str(attack_type).casefold() == v.casefold()), "")


def trap_from_cache(text: str, cache: Cache) -> Trap | None:
    """Where the cache puts a text; None when it has nothing, or nothing usable."""
    entry = cache.get(cache_key(text))
    if entry is None:
        return None
    place = position_of(entry["lat"], entry["lon"])
    if isinstance(place, str):
        return None
    return Trap(*place, str(entry.get("display") or ""), text.strip(), str(entry.get("geocoder") or "nominatim"))


# --- a group as lines -----------------------------------------------------------------------------------------


def attack_line(group: Group, folder: str) -> Line:
    """The group's line in attacks.jsonl of the data set in `folder`."""
    name = original_name(group)
    line = _attack_defaults(name) | dict(_kept(group, "Original").get("attack", {}))
    extras = _kept(group, "Original").get("texts", [])
    with_tiers = _guess_tiers(replace(group, spans=_untiered(group.spans)), _label_of(group)).spans != group.spans
    line["texts"] = [
        _text_line(span, with_tiers) | dict(extras[i] if i < len(extras) else {})
        for i, span in enumerate(group.spans)
    ]
    usual = {
        "group_id": (group.group_id, image_stem(name)),
        "source_id": (group.source_id, name),
        "dataset": (group.dataset, folder),
        **{key: (getattr(group, key), "") for key in _PLACE_NAMES},
    }
    own: Line = {key: value for key, (value, expected) in usual.items() if value != expected}
    if made := {key: value for key, value in group.generation.get("Original", {}).items() if key != _KEPT}:
        own["generation"] = made
    return line | ({_KIT: own} if own else {})


def _attack_defaults(name: str) -> Line:
    return {"original_filename": name, "clean_image_path": name, "image_path": f"filtered_images/{name}"}


def _text_line(span: Span, with_tier: bool) -> Line:
    line: Line = {
        "original_text": span.text,
        "text_location": span.location,
        "attacks": dict(span.replacements),
    }
    own: Line = {}
    if span.polygon:
        own["polygon"] = [list(corner) for corner in span.polygon]
    if span.confidence is not None:
        own["confidence"] = span.confidence
    if with_tier:
        own |= {"tier": span.tier, "tier_reason": span.tier_reason}
    return line | ({_KIT: own} if own else {})


def label_line(group: Group, folder: str, cache: Cache) -> Line | None:
    """The group's line in taxonomy_labels.jsonl; None when there is nothing to say.

    `cache` is what will be written as geocode_cache.json: a trap that it does not give back stands in the line.
    """
    kept = dict(_kept(group, "Original").get("label", {}))
    line = _label_defaults(group, folder) | kept
    expected = trap_from_cache(str(line["adversarial_text"]), cache)
    if group.trap != expected:
        line[_KIT] = {"trap": None if group.trap is None else asdict(group.trap)}
    if group.tier or group.tier_reason or kept or _KIT in line or expected:
        return line
    return None


def _label_defaults(group: Group, folder: str) -> Line:
    best = group.representative
    return {
        "base_id": image_stem(original_name(group)),
        "original_text": best.text if best else "",
        "text_location": best.location if best else "",
        "tier": group.tier,
        "reason": group.tier_reason,
        "adversarial_text": best.replacements.get("adversarial", "") if best else "",
        "num_texts": len(group.spans),
        "dataset": folder,
    }


def picture_line(group: Group, variant: str, filename: str) -> Line:
    """The line of one edited picture in benchmark_meta.jsonl."""
    made = group.generation.get(variant, {})
    line: Line = {"filename": filename, "original_source": original_name(group), **_injected(group, variant)}
    line["attack_type"] = "Blank" if variant == "Blank" else variant.lower()
    if "prompt" in made:
        line["prompt_used"] = made["prompt"]
    if "seed" in made:
        line["seed"] = made["seed"]
    kept = made.get(_KEPT)
    line = line | dict(kept) if isinstance(kept, dict) else line
    return line if _generation(line, group, variant) == made else line | {_KIT: {"generation": made}}


def _injected(group: Group, variant: str) -> Line:
    if variant == "Blank":
        return {"injected_text": ""}
    texts = (span.replacements.get(variant.lower(), "") for span in group.spans)
    return {"injected_texts": [text for text in texts if text]}


# --- lines as a group -----------------------------------------------------------------------------------------


def group_of(
    attack: Line,
    *,
    folder: str,
    position: tuple[float, float],
    label: Line | None,
    pictures: Mapping[str, Line],
    images: Mapping[str, str],
    cache: Cache,
    names: Mapping[str, str],
) -> Group:
    """The group that these lines describe.

    Parameters
    ----------
    attack, label, pictures
        Its lines in attacks.jsonl, taxonomy_labels.jsonl and, by variant, benchmark_meta.jsonl.
    images
        Path of each picture that is there, relative to the release.
    names
        city, admin, country from elsewhere, for lines that do not say.

    Raises
    ------
    DataError
        A field has a value of the wrong kind; the reason is for the list of rejected items.
    """
    name = str(attack["original_filename"])
    texts, own = _texts(attack), _own(attack)
    group = Group(
        group_id=str(own.get("group_id") or image_stem(name)),
        dataset=str(own.get("dataset", folder)),
        lat=position[0],
        lon=position[1],
        source_id=str(own.get("source_id", name)),
        spans=spans_of(attack),
        images=dict(images),
        city=str(own.get("city", names.get("city", ""))),
        admin=str(own.get("admin", names.get("admin", ""))),
        country=str(own.get("country", names.get("country", ""))),
    )
    if label is not None:
        tier = str(label.get("tier") or "")
        if tier not in ("", *TIERS):
            raise DataError(f"the tier {tier!r} is none of {', '.join(TIERS)}")
        group = replace(group, tier=tier, tier_reason=str(label.get("reason") or ""))
        if not any("tier" in _own(text) for text in texts):
            group = _guess_tiers(group, label)
    made: dict[str, Line] = {}
    for variant, line in pictures.items():
        if found := _generation(line, group, variant):
            made[variant] = found
    if first := _original_generation(attack, label, texts, group, folder):
        made["Original"] = first
    group = replace(group, generation=made)
    return replace(group, trap=_trap(group, label, folder, cache))


def _texts(attack: Line) -> list[Line]:
    texts = attack.get("texts")
    if texts is None and any(key in attack for key in _SINGLE_KEYS):
        texts = [{key: attack[key] for key in _SINGLE_KEYS if key in attack}]
    if not isinstance(texts, list) or not all(isinstance(text, dict) for text in texts):
        raise DataError("its texts are no list of objects")
    return texts


def spans_of(attack: Line) -> tuple[Span, ...]:
    """The texts of a line in attacks.jsonl.

    Raises
    ------
    DataError
        They are not what the release's layout says.
    """
    return tuple(_span(text) for text in _texts(attack))


def _span(text: Line) -> Span:
    attacks = text.get("attacks") or {}
    if not isinstance(attacks, dict):
        raise DataError("the attacks of a text are no object")
    own = _own(text)
    try:
        polygon = tuple((float(x), float(y)) for x, y in own.get("polygon") or ())
        confidence = None if own.get("confidence") is None else float(own["confidence"])
    except (TypeError, ValueError) as error:
        raise DataError(f"the polygon or confidence of a text is no number ({error})") from error
    return Span(
        text=str(text.get("original_text") or ""),
        polygon=polygon,
        location=str(text.get("text_location") or ""),
        replacements={_kind(key): str(value) for key, value in attacks.items() if value is not None},
        tier=str(own.get("tier") or ""),
        tier_reason=str(own.get("tier_reason") or ""),
        confidence=confidence,
    )


def _kind(key: str) -> str:
    return key.lower() if key.lower() in KINDS else key


def _untiered(spans: tuple[Span, ...]) -> tuple[Span, ...]:
    return tuple(replace(span, tier="", tier_reason="") for span in spans)


def _guess_tiers(group: Group, label: Line) -> Group:
    """The label's tier for the one text that it is about; the others stay without."""
    text, place = label.get("original_text"), label.get("text_location")
    same = [i for i, span in enumerate(group.spans) if span.text == text]
    index = next((i for i in same if group.spans[i].location == place), same[0] if same else None)
    if index is None or not group.tier:
        return group
    spans = list(group.spans)
    spans[index] = replace(spans[index], tier=group.tier, tier_reason=group.tier_reason)
    return replace(group, spans=tuple(spans))


def _label_of(group: Group) -> Line:
    return _label_defaults(group, "") | dict(_kept(group, "Original").get("label", {}))


def _trap(group: Group, label: Line | None, folder: str, cache: Cache) -> Trap | None:
    own = _own(label or {})
    if "trap" in own:
        trap = own["trap"]
        if trap is None:
            return None
        place = position_of(trap.get("lat"), trap.get("lon")) if isinstance(trap, dict) else "it is no object"
        if isinstance(place, str):
            raise DataError(f"the trap cannot be used: {place}")
        return Trap(*place, *(str(trap.get(key, "")) for key in ("name", "query", "geocoder")))
    return trap_from_cache(str((_label_defaults(group, folder) | (label or {}))["adversarial_text"] or ""), cache)


def _original_generation(
    attack: Line, label: Line | None, texts: list[Line], group: Group, folder: str
) -> dict[str, Any]:
    """What the lines say of the Original, and all that they say beyond this kit's fields."""
    name = str(attack["original_filename"])
    kept: Line = {}
    usual = _attack_defaults(name)
    read = {_KIT, "texts", *(_SINGLE_KEYS if "texts" not in attack else ())}
    more = {key: value for key, value in attack.items() if key not in read and usual.get(key, _ABSENT) != value}
    beside = [{k: v for k, v in text.items() if k not in (_KIT, *_SINGLE_KEYS)} for text in texts]
    if name != _plain_name(group):
        kept["original_filename"] = name
        group = replace(group, generation={"Original": {_KEPT: kept}})
    if more:
        kept["attack"] = more
    if any(beside):
        kept["texts"] = beside
    said = {key: value for key, value in (label or {}).items() if key != _KIT}
    usual = _label_defaults(group, folder)
    if differing := {key: value for key, value in said.items() if usual.get(key, _ABSENT) != value}:
        kept["label"] = differing
    made = dict(_own(attack).get("generation") or {})
    return made | ({_KEPT: kept} if kept else {})


def _generation(line: Line, group: Group, variant: str) -> dict[str, Any]:
    """How the picture of a line was made, as the group keeps it."""
    if isinstance(_own(line).get("generation"), dict):
        return dict(_own(line)["generation"])
    made: dict[str, Any] = {"editor": "released"}
    if "prompt_used" in line:
        made["prompt"] = line["prompt_used"]
    if "seed" in line:
        made["seed"] = line["seed"]
    usual = _injected(group, variant)
    plain = ("filename", "original_source", "attack_type", "prompt_used", "seed", _KIT)
    kept = {key: value for key, value in line.items() if key not in plain and usual.get(key, _ABSENT) != value}
    return made | ({_KEPT: kept} if kept else {})


def _own(line: Line) -> Line:
    """What this kit added to a line."""
    found = line.get(_KIT)
    return found if isinstance(found, dict) else {}


def _kept(group: Group, variant: str) -> Line:
    found = group.generation.get(variant, {}).get(_KEPT)
    return found if isinstance(found, dict) else {}


_ABSENT = math.nan
"""Equal to nothing, not even to itself."""
