"""The questions to the model that writes replacements: one per picture, and one more that tells what was wrong.

Texts from pictures and from models go into a question only as JSON strings, so whatever a sign or a reply says, it
stays inside its quotation marks.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import Template

from signpost_kit.benchmark.groups import Group
from signpost_kit.errors import ConfigError
from signpost_kit.geocoding import continent_of, default_gazetteer
from signpost_kit.prompts import Prompt, load
from signpost_kit.replacements.gazetteer import random_script
from signpost_kit.replacements.validation import Fault, country_of, longest
from signpost_kit.replacements.variety import ANYWHERE, group_rng, region_for

__all__ = ["Questions", "place_of"]

_PLACEHOLDERS = {
    "replacements": {"place", "texts", "script", "region"},
    "replacements_propose": {"place", "most", "script", "region"},
    "replacements_repair": {"task", "reply", "faults"},
}
_LONGEST_REPLY = 6000  # characters of a reply that are shown to its writer again
_MOST_FAULTS = 30
_SCRIPTS = {
    "Han": "Chinese characters",
    "Japanese": "Japanese",
    "Hangul": "Korean (Hangul)",
    "Latin": "Latin letters (English words)",
}
_OTHER_SCRIPT = "a script that no writing in the picture uses"


@dataclass(frozen=True)
class Questions:
    """How the questions of one run are worded."""

    proposed: bool
    """True: the model chooses the writing; False: it is told."""
    varied: bool
    """Whether each picture gets a region and a script of its own."""
    seed: int
    most: int
    """Pieces of writing that a model may choose."""
    ask: Prompt
    repair: Prompt

    @classmethod
    def load(cls, *, proposed: bool, varied: bool = True, seed: int = 42, most: int = 3) -> Questions:
        """With the templates of params/prompts.

        Raises
        ------
        ConfigError
            A template is missing, or holds a `$name` that is not filled in.
        """
        ask = _template("replacements_propose" if proposed else "replacements")
        return cls(proposed, varied, seed, most, ask, _template("replacements_repair"))

    def first(self, group: Group) -> str:
        """The question about one picture."""
        country = country_of(group) if _known(group) or group.country else ""
        region, script = ANYWHERE, _OTHER_SCRIPT
        if self.varied:
            region = region_for(group.group_id, continent_of(country), seed=self.seed)
            if group.spans:
                name = random_script(group.spans, group_rng(f"script of {group.group_id}", self.seed))
                script = _SCRIPTS.get(name, f"{name} letters")
        return Template(self.ask.text).substitute(
            place=place_of(group), texts=_listed(group), script=script, region=region, most=self.most
        )

    def again(self, question: str, reply: str, faults: Sequence[Fault]) -> str:
        """The second question: the first one, its reply, and what is wrong with it."""
        told = [str(fault) for fault in faults[:_MOST_FAULTS]]
        if len(faults) > _MOST_FAULTS:
            told.append(f"and {len(faults) - _MOST_FAULTS} more faults of these kinds")
        return Template(self.repair.text).substitute(
            task=question, reply=_json(reply[:_LONGEST_REPLY]), faults=_json_lines(told)
        )


def place_of(group: Group) -> str:
    """Where a picture was taken, for its writer: `Lyon, Rhône, FR (45.7600, 4.8500)`, or that it is unknown.

    City and country come from the nearest city of the gazetteer where the group does not name them.
    """
    if not _known(group):
        named = ", ".join(part for part in (group.city, group.admin, group.country) if part)
        return _plain(named) or "unknown; judge it from the picture"
    city, country = group.city, group.country
    if not city or not country:
        near, _ = default_gazetteer().nearest(group.lat, group.lon)
        city, country = city or f"near {near.name}", country or near.country
    names = ", ".join(part for part in (city, group.admin, _country(country)) if part)
    return f"{_plain(names)} ({group.lat:.4f}, {group.lon:.4f})"


def _known(group: Group) -> bool:
    return math.isfinite(group.lat) and math.isfinite(group.lon)


def _country(code: str) -> str:
    from signpost_kit.models.embedded.world import country_name

    return country_name(code)


def _plain(name: str) -> str:
    """A place name from a list of somebody's: one line, and short."""
    return " ".join(name.split())[:120]


def _listed(group: Group) -> str:
    return _json_lines(
        [
            {"id": number, "text": span.text, "location": span.location, "longest": longest(span.text)}
            for number, span in enumerate(group.spans, start=1)
        ]
    )


def _json(value: object) -> str:
    # Line separators are escaped as well: to a model they look like the end of a line. So are lone surrogates.
    text = json.dumps(value, ensure_ascii=False)
    return re.sub("[\u0085\u2028\u2029\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", text)


def _json_lines(values: Sequence[Mapping[str, object] | str]) -> str:
    return "[\n" + ",\n".join(_json(value) for value in values) + "\n]"


def _template(task: str) -> Prompt:
    prompt = load(task)
    allowed = _PLACEHOLDERS[task]
    for found in Template(prompt.text).pattern.finditer(prompt.text):
        if found["escaped"] is not None:
            continue
        name = found["named"] or found["braced"]
        if name not in allowed:
            shown = f"${name}" if name else "a lone $ (write $$ for a dollar sign)"
            names = ", ".join(f"${known}" for known in sorted(allowed))
            raise ConfigError(f"{prompt.path}: {shown} is not filled in; allowed: {names}")
    return prompt
