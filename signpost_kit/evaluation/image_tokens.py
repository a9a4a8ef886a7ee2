"""How many tokens a picture counts for: each provider's public rule, by the names that params/models.yml uses.

A rule takes the sides of the picture as it is sent, in pixels, and gives tokens. Rules are what the providers'
manuals say (each is named below); what a bill says can differ, so :mod:`signpost_kit.evaluation.cost` corrects an
estimate by what the first replies really took.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from signpost_kit.errors import ConfigError

__all__ = ["Rule", "image_tokens", "sent_size"]

Rule = Callable[[int, int], int]


def image_tokens(rule: str) -> Rule | None:
    """The rule of that name; None for "unknown".

    Raises
    ------
    ConfigError
        No such rule.
    """
    if rule == "unknown":
        return None
    for pattern, make in _RULES:
        found = re.fullmatch(pattern, rule)
        if found:
            return make(*(int(number) for number in found.groups()))
    raise ConfigError(f"there is no rule {rule!r} for a picture's tokens; see signpost_kit/models/catalogue.py")


def sent_size(width: int, height: int, longest: int) -> tuple[int, int]:
    """The sides of a picture after it was scaled down to a longest side, as images.py does it."""
    if max(width, height) <= longest:
        return width, height
    scale = longest / max(width, height)
    return max(1, round(width * scale)), max(1, round(height * scale))


def _begun(length: float, step: int) -> int:
    return max(1, math.ceil(length / step - 1e-9))


def _openai_tiles(base: int, tile: int) -> Rule:
    """OpenAI, "Images and vision", calculating costs: GPT-4o, GPT-4.1, GPT-5 and their mini with tiles.

    Scaled down into 2048 x 2048, then the shorter side down to 768; a base, and so many per begun 512 x 512.
    """

    def tokens(width: int, height: int) -> int:
        scale = min(1.0, 2048 / max(width, height))
        scale *= min(1.0, 768 / (min(width, height) * scale))
        return base + tile * _begun(width * scale, 512) * _begun(height * scale, 512)

    return tokens


def _openai_patches(most: int) -> Rule:
    """OpenAI, "Images and vision", calculating costs: models that count patches of 32 x 32.

    Scaled down into 2048 x 2048; if that still begins more than `most` patches, scaled until whole ones fit.
    """

    def tokens(width: int, height: int) -> int:
        scale = min(1.0, 2048 / max(width, height))
        w, h = width * scale, height * scale
        if _begun(w, 32) * _begun(h, 32) <= most:
            return _begun(w, 32) * _begun(h, 32)
        shrink = math.sqrt(32 * 32 * most / (w * h))
        across, down = w * shrink / 32, h * shrink / 32
        shrink *= min(max(1, math.floor(across)) / across, max(1, math.floor(down)) / down)
        return min(most, _begun(w * shrink, 32) * _begun(h * shrink, 32))

    return tokens


_ANTHROPIC_MOST = {1568: 1568, 2576: 4784}


def _anthropic(side: int) -> Rule:
    """Anthropic, "Vision", evaluate image size: about w x h / 750, in begun patches of 28 x 28.

    Scaled down until the longer side is at most `side` and the tokens are at most what that class of models reads.
    """
    most = _ANTHROPIC_MOST.get(side, side)

    def tokens(width: int, height: int) -> int:
        scale = min(1.0, side / max(width, height))
        count = _begun(width * scale, 28) * _begun(height * scale, 28)
        return min(count, most)

    return tokens


def _gemini_tiles(tile: int) -> Rule:
    """Google, "Image understanding" and "Understand and count tokens": Gemini 2.x.

    One tile if both sides are at most 384; else tiles with two thirds of the shorter side, within 256..768.
    """

    def tokens(width: int, height: int) -> int:
        if max(width, height) <= 384:
            return tile
        side = min(768, max(256, math.floor(min(width, height) / 1.5)))
        return tile * _begun(width, side) * _begun(height, side)

    return tokens


def _flat(tokens: int) -> Rule:
    """Google, "Media resolution": Gemini 3 gives every picture the same budget, 1120 by default."""
    return lambda width, height: tokens


def _qwen(most: int = 2560, patch: int = 32) -> Rule:
    """Alibaba Cloud Model Studio, "Visual understanding": sides rounded to multiples of 32, one token per
    block, and two marks around the picture.
    """

    def tokens(width: int, height: int) -> int:
        w, h = max(1, round(width / patch)), max(1, round(height / patch))
        if w * h > most:
            shrink = math.sqrt(width * height / (most * patch * patch))
            w = max(1, math.floor(width / shrink / patch))
            h = max(1, math.floor(height / shrink / patch))
        return max(4, w * h) + 2

    return tokens


def _ark(most: int) -> Rule:
    """Volcano Ark, "Visual understanding": w x h / 784, at most 1312."""
    return lambda width, height: min(most, math.ceil(width * height / 784))


def _grok(side: int) -> Rule:
    """xAI, "Image understanding": 256 per begun tile of 448 x 448, at most six tiles, and 256 for the whole."""
    return lambda width, height: 256 * (min(6, _begun(width, side) * _begun(height, side)) + 1)


_RULES: tuple[tuple[str, Callable[..., Rule]], ...] = (
    (r"openai-tiles-(\d+)-(\d+)", _openai_tiles),
    (r"openai-patches-(\d+)", _openai_patches),
    (r"anthropic-(\d+)", _anthropic),
    (r"gemini-tiles-(\d+)", _gemini_tiles),
    (r"gemini-(\d+)", _flat),
    (r"qwen3-vl", _qwen),
    (r"ark-(\d+)", _ark),
    (r"grok-(\d+)", _grok),
)
