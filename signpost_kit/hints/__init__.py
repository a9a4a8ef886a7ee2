"""GeoHint: what is asked with and without a hint, and what the answers mean on the globe."""

from signpost_kit.hints.answers import answers_frame, chains_frame
from signpost_kit.hints.plan import HintSite, hint_plan
from signpost_kit.hints.schemas import question

__all__ = ["HintSite", "answers_frame", "chains_frame", "hint_plan", "question"]
