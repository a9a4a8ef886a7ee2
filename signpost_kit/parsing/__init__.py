"""Replies to values: text in, typed result with a status and a reason out. Nothing here raises on any text."""

from signpost_kit.parsing.coordinates import Coordinates, parse_coordinates
from signpost_kit.parsing.structured import (
    DefenseReply,
    ProbingReply,
    Verdict,
    parse_defense,
    parse_json_object,
    parse_probing,
    parse_verdict,
)

__all__ = [
    "Coordinates",
    "DefenseReply",
    "ProbingReply",
    "Verdict",
    "parse_coordinates",
    "parse_defense",
    "parse_json_object",
    "parse_probing",
    "parse_verdict",
]
