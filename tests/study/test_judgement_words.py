"""Judgements in words: yes, no, agreement, conflict, the trusted source; what says neither is missing."""

from __future__ import annotations

import json

import pytest

from signpost_kit.parsing import parse_defense, parse_probing
from signpost_kit.parsing.judgements import agreement_of, conflict_of, presence_of, source_of, yes_no

AGREE = [
    *(
        True,
        1,
        "true",
        "Yes",
        "**Yes**",
        "yes, both point to Spain",
        '"true"',
        "TRUE.",
        "Consistent",
        "fully consistent",
    ),
    *(
        "mostly consistent",
        "They are consistent",
        "It is consistent with Poland",
        "No conflict",
        "no clear conflict",
    ),
    *(
        "No contradiction is visible",
        "There is no inconsistency",
        "no evidence of conflict",
        "They do not conflict",
    ),
    *(
        "No text conflicts with the scene",
        "match",
        "They agree",
        "compatible",
        "一致",
        "没有冲突",
        "是",
        "Yes — consistent",
    ),
    *("does not contradict the sights",),
]
DISAGREE = [
    *(
        False,
        0,
        "false",
        "No",
        "no.",
        "No, they differ",
        "No: palms but Polish signs",
        "Inconsistent",
        "**inconsistent**",
    ),
    *(
        "not consistent",
        "not fully consistent",
        "clearly inconsistent",
        "Conflicting",
        "They contradict each other",
    ),
    *(
        "There is a clear conflict",
        "a strong conflict",
        "mismatch",
        "do not match",
        "They don't match",
        "incompatible",
    ),
    *("不一致", "存在冲突", "否", "False - the sign is Thai", "the two cannot both belong to one place"),
]
MISSING = [
    *(
        None,
        "",
        "N/A",
        "n/a (no writing)",
        "NA",
        "not applicable",
        "partly",
        "partially consistent",
        "unclear",
        "unknown",
    ),
    *("cannot be determined", "No text", "No readable text", "no writing is visible", "There is no text", "mixed"),
    *(
        "possibly",
        "maybe",
        "true or false",
        "true if both can belong to one place",
        "<yes or no>",
        "yes/no",
        0.5,
        2,
        [],
    ),
    *(
        "potential conflict",
        "somewhat",
        "only one kind of evidence",
        "No visible signs",
        "insufficient evidence",
        {},
    ),
    *("No evidence to compare",),
]


@pytest.mark.parametrize("written", AGREE)
def test_words_that_agree(written):
    assert agreement_of(written) is True


@pytest.mark.parametrize("written", DISAGREE)
def test_words_that_disagree(written):
    assert agreement_of(written) is False


@pytest.mark.parametrize("written", MISSING)
def test_words_that_are_neither(written):
    assert agreement_of(written) is None
    assert conflict_of(written) is None


CONFLICT = [
    *(
        True,
        "yes",
        "Yes, the sign is from another country",
        "conflict",
        "Conflict detected",
        "a clear conflict",
        "present",
    ),
    *(
        "There is a conflict",
        "inconsistent",
        "they disagree",
        "detected",
        "Not consistent",
        "no agreement",
        "do not match",
    ),
]
NO_CONFLICT = [
    *(False, "no", "No.", "none", "None detected", "no conflict", "There is no conflict", "absent", "not detected"),
    *(
        "consistent",
        "No (text and scene agree)",
        "No, consistent",
        "they match",
        "No apparent contradiction",
        "not present",
    ),
    *("No conflict, since no text is visible",),
]


@pytest.mark.parametrize(("written", "meant"), [*((w, True) for w in CONFLICT), *((w, False) for w in NO_CONFLICT)])
def test_words_for_conflict(written, meant):
    assert conflict_of(written) is meant
    assert parse_defense(f"Visual: a\nText: b\nConflict: {written}\nTrusted: Both\nFinal: 1.5, 2.5").conflict is (
        conflict_of(str(written))
    )


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        *(
            (w, "Visual")
            for w in ("Visual", "visual evidence", "the sights", "Visual (the text looks edited)", "scene")
        ),
        *((w, "Visual") for w in ("not the text but the scene", "Not textual; visual", "Visual over textual")),
        *(
            (w, "Visual")
            for w in ("visual, since the text looks edited", "Image rather than text", "Visual cues > text")
        ),
        *((w, "Textual") for w in ("Textual", "text", "Scene text", "the text in the image", "Image text", "OCR")),
        *(
            (w, "Textual")
            for w in ("street signs", "The writing", "textual rather than visual", "not visual but textual")
        ),
        *((w, "Textual") for w in ("Textual, because the visual cues are weak", "the sign's language", "文字")),
        *(
            (w, "Both")
            for w in ("Both", "both visual and textual", "Visual and textual", "visual + textual", "Visual/Textual")
        ),
        *((w, "Both") for w in (["Visual", "Textual"], "combined evidence", "text and visual evidence")),
        *((w, "Unknown") for w in ("Unknown", "neither", "none", "unclear")),
        *(
            (w, None)
            for w in (None, "", "N/A", "42", 7, "Visual, Textual, Both or Unknown", "<Visual|Textual|Both|Unknown>")
        ),
    ],
)
def test_trusted_source(written, meant):
    assert source_of(written) == meant


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        *((w, True) for w in (True, "yes", "true", "present", "Yes, on the shop", "there is a sign", "readable")),
        *(
            (w, False)
            for w in (
                False,
                "no",
                "none",
                "No readable text",
                "no text",
                "not found",
                "nothing",
                "There is no text",
            )
        ),
        *(
            (w, None)
            for w in (None, "", "N/A", "unclear", "true or false", "true if there is writing", "unknown", [])
        ),
    ],
)
def test_presence(written, meant):
    assert presence_of(written) is meant


def test_a_number_is_yes_or_no_only_as_one_or_zero():
    assert [yes_no(value) for value in (1, 0, 2, -1, 0.0, 1.0)] == [True, False, None, None, None, None]


def test_probing_knows_the_same_words():
    def consistent(said):
        return parse_probing(
            json.dumps({"visual_evidence": "x", "consistent": said, "final_prediction": [1, 2]})
        ).consistent

    assert [consistent(said) for said in ("No conflict", "No text is visible", "no", None, "N/A")] == [
        True,
        None,
        False,
        None,
        None,
    ]
