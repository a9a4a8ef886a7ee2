"""Judgements in words: yes or no, agreement or conflict, the source that was trusted, whether something is there.

Every function gives None for what is not said. "N/A", "partly" and "no text to compare" are neither yes nor no, and
a template that is handed back ("yes or no", "true if both ...") is no answer.
"""

from __future__ import annotations

import re
from typing import Any

__all__ = ["agreement_of", "conflict_of", "is_no_answer", "presence_of", "source_of", "yes_no"]

_MARKUP = re.compile(r"[*_`\"“”]+")
_HEAD = 400  # characters that are read: a judgement stands at the beginning
_TEMPLATE = re.compile(r"\W*(?:yes|no|true|false)\s*(?:if\b|or\b|[/|])|\W*one of\b", re.IGNORECASE)
_YES_NO = re.compile(r"\W*(yes|true|no|false)\b", re.IGNORECASE)
_WRITING = (
    r"(?:text|texts|textual|writing|signs?|signage|words?|letters?|lettering|script|information|clues?|cues?|data"
    r"|evidence|basis|comparison|answer|readable|legible)\b"
)
_NOTHING = re.compile(
    r"\W*(?:n\s?/\s?a\b|n\.a\.|na\W*$|none\b|null\b|nil\b|not\s(?:applicable|available|given|specified|asked)\b|无\W*$)",
    re.IGNORECASE,
)
_OPEN = re.compile(
    r"\W*(?:unknown|unclear|unsure|uncertain|undetermined|undecided|indeterminate|partial|partly|partially|mixed|somewhat"
    r"|ambiguous|maybe|perhaps|possibl|potential|insufficient|only\sone\b|cannot|can['’]?t\b|can\snot"
    r"|not\s(?:sure|clear|certain|determin|enough|possible|known)"
    rf"|(?:there\s(?:is|are)\s)?no\s(?:\w{{1,20}}\s){{0,2}}?{_WRITING})",
    re.IGNORECASE,
)
_FILLER = (
    r"(?:(?:they|both|it|is|are|was|seems?|appears?|to|be|the|two|a|an|there|some|fully|mostly|largely|broadly"
    r"|generally|entirely|completely|perfectly|clearly|highly|very|strongly|clear|strong|major|minor|slight|direct"
    r"|obvious|significant|evidence|sources?|cues)[\s,:;-]{1,3}){0,6}?"
)
_CLASH = r"(?:conflict|contradict|inconsisten|mismatch|discrepanc|disagree|incompatib)"
_AGREE = re.compile(
    rf"\W*(?:{_FILLER}no\s(?:\w{{1,20}}\s){{0,3}}?{_CLASH}"
    rf"|{_FILLER}(?:do(?:es)?\snot|don['’]t|doesn['’]t|not)\s(?:seem\sto\s|appear\sto\s)?(?:be\s)?(?:in\s)?{_CLASH}"
    rf"|{_FILLER}(?:consistent|compatible|match(?:es|ing)?|agree(?:s|ment)?)\b"
    r"|(?:没有|无)(?:明显)?(?:冲突|矛盾)|(?:基本)?一致|相符)",
    re.IGNORECASE,
)
_DISAGREE = re.compile(
    rf"\W*(?:{_FILLER}(?:not\s(?:\w{{1,20}}\s){{0,2}}?|no\s)(?:consistent|compatible|match|agree|consistency)"
    rf"|{_FILLER}(?:do(?:es)?\snot|don['’]t|doesn['’]t|cannot|can['’]?t)\s(?:both\s)?(?:match|agree|fit|belong)"
    rf"|{_FILLER}{_CLASH}|不一致|不符|冲突|矛盾|有冲突|存在冲突)",
    re.IGNORECASE,
)


def _head(value: str) -> str:
    """The beginning of a value, without markup."""
    return _MARKUP.sub("", value[:_HEAD])


def yes_no(value: Any) -> bool | None:
    """True for true, yes and 1, False for false, no and 0; None for everything else, a template included."""
    if isinstance(value, (bool, int)):
        return {0: False, 1: True}.get(int(value))
    if not isinstance(value, str):
        return None
    text = _head(value)
    if _TEMPLATE.match(text):
        return None
    if word := _YES_NO.match(text):
        return word[1].lower() in ("yes", "true")
    return {"是": True, "有": True, "否": False}.get(text.strip(" .。"))


def is_no_answer(value: Any) -> bool:
    """Whether a value says that the question does not arise: null, "N/A", "none", "not applicable"."""
    return value is None or (isinstance(value, str) and (not value.strip() or bool(_NOTHING.match(_head(value)))))


def agreement_of(value: Any) -> bool | None:
    """Do two things agree? True for yes and "consistent", False for no, "inconsistent" and "they conflict".

    >>> agreement_of("No conflict"), agreement_of("No, they differ"), agreement_of("No text is visible")
    (True, False, None)
    """
    if not isinstance(value, str):
        return yes_no(value)
    text = _head(value)
    said = _clash(text)
    if said is not None:
        return not said
    return None if is_no_answer(text) or _OPEN.match(text) else yes_no(text)


def conflict_of(value: Any) -> bool | None:
    """Do two things contradict each other? True for yes and "conflict", False for no, "none" and "they agree".

    >>> conflict_of("none"), conflict_of("Yes: Paris, but palms"), conflict_of("N/A (no text)")
    (False, True, None)
    """
    if not isinstance(value, str):
        return yes_no(value)
    text = _head(value)
    said = _clash(text)
    if said is not None:
        return said
    if re.match(
        r"\W*(?:none|absent|not?\s(?:present|detected|found|evident))\b(?!\s\w{1,20}\s?text)", text, re.IGNORECASE
    ):
        return False
    if re.match(r"\W*(?:present|detected|found|exists?)\b", text, re.IGNORECASE):
        return True
    return None if is_no_answer(text) or _OPEN.match(text) else yes_no(text)


def _clash(text: str) -> bool | None:
    """Do the words at the beginning tell of a conflict? None without such words, or after a plain yes or no."""
    if re.match(r"\W*(?:yes|no|true|false)\s*(?:[,.;:(—–-]|$)", text, re.IGNORECASE) or _TEMPLATE.match(text):
        return None
    if _AGREE.match(text):
        return False
    return True if _DISAGREE.match(text) else None


def presence_of(value: Any) -> bool | None:
    """Is something there? True for yes and "present", False for no, "none" and "no text"; None for "N/A".

    >>> presence_of("none"), presence_of("No readable text"), presence_of("n/a"), presence_of("unclear")
    (False, False, None, None)
    """
    plain = yes_no(value)
    if plain is not None or not isinstance(value, str):
        return plain
    text = _head(value)
    if _TEMPLATE.match(text):
        return None
    if re.match(
        r"\W*(?:none|nothing|absent|not\s(?:found|present|visible|readable)|there\s(?:is|are)\sno|没有|无)",
        text,
        re.I,
    ):
        return False
    found = re.match(r"\W*(?:present|found|visible|readable|there\s(?:is|are)\b)", text, re.IGNORECASE)
    return True if found else None


_SIGHT = re.compile(r"\bvisual|\bsight|\bscene|\bimage|\bpicture|\bphoto|视觉", re.IGNORECASE)
_TEXT = re.compile(
    r"\btext|\bwriting|\bwritten|\bsign|\bwords?\b|\bocr\b|\blettering|\bscript|文字|文本", re.IGNORECASE
)
_SCENE_TEXT = re.compile(
    r"\b(?:scene|image|picture|photo|visible|in-scene|on-image)(?:['’]s)?[\s-]{1,2}(?:text\w*|writing|words|lettering)",
    re.IGNORECASE,
)
_PAIR = re.compile(
    r"\W*(?:the\s)?(visual|text|sight|scene|writing)\w*(?:\s(?:evidence|cues?|clues?|information))?"
    r"\s*(?:and|&|\+|/|,|plus|with)\s*(?:the\s)?(visual|text|sight|scene|writing)\w*"
    r"(?:\s(?:evidence|cues?|clues?|information))?\W*(?:\(|$|\b(?:both|together|combined)\b)",
    re.IGNORECASE,
)
_NOT_THIS = re.compile(r"\W*not\b[^,;.]{0,60}?(?:[,;.]|\bbut\b)", re.IGNORECASE)
_REASON = re.compile(
    r"\b(?:rather\sthan|instead\sof|over|than|not|since|because|although|though|despite|while|whereas|but)\b|[,;.(\[:—]|\s-\s",
    re.IGNORECASE,
)


def source_of(value: Any) -> str | None:
    """The trusted source under one of its names Visual, Textual, Both, Unknown; None when it is none of them.

    >>> source_of("Scene text"), source_of("not the writing, but the sights"), source_of("visual + textual")
    ('Textual', 'Visual', 'Both')
    """
    if isinstance(value, list):
        value = " and ".join(str(item) for item in value)
    if not isinstance(value, str):
        return None
    text = _SCENE_TEXT.sub("textual", _head(value))
    if len(re.findall(r"\b(?:visual|textual|both|unknown)\b", text[:80], re.IGNORECASE)) >= 4:
        return None  # the choices of the question, handed back
    if re.match(r"\W*(?:both|combin|equal|两者)", text, re.IGNORECASE):
        return "Both"
    if re.match(r"\W*(?:unknown|neither|none|unsure|unclear|undetermined|uncertain)", text, re.IGNORECASE):
        return "Unknown"
    pair = _PAIR.match(text)
    if pair and bool(_TEXT.match(pair[1])) != bool(_TEXT.match(pair[2])):
        return "Both"
    rest = _NOT_THIS.sub("", text, count=1) if re.match(r"\W*not\b", text, re.IGNORECASE) else text
    for part in (_REASON.split(rest, maxsplit=1)[0], rest):
        sight, word = _SIGHT.search(part), _TEXT.search(part)
        if sight and (not word or sight.start() < word.start()):
            return "Visual"
        if word:
            return "Textual"
    return None
