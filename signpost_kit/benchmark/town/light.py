"""Light and weather of one scene: where the sun stands, how the air colours things, how bright each face is."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp

import numpy as np

from signpost_kit.benchmark.town.atlas import City
from signpost_kit.benchmark.town.dice import between, happens, weighted

__all__ = ["RGB", "Light", "make_light", "mix", "parse_color", "vary"]

RGB = tuple[float, float, float]
"""Red, green, blue in 0..255."""


def parse_color(text: str) -> RGB:
    """`#rrggbb` as numbers."""
    return (int(text[1:3], 16), int(text[3:5], 16), int(text[5:7], 16))


def mix(one: RGB, other: RGB, share: float) -> RGB:
    """`one` with `share` of `other`."""
    keep = 1.0 - share
    return (one[0] * keep + other[0] * share, one[1] * keep + other[1] * share, one[2] * keep + other[2] * share)


def vary(rng: np.random.Generator, color: RGB, amount: float = 8.0) -> RGB:
    """The colour a little lighter or darker, warmer or cooler."""
    shift, warm = rng.normal(0.0, amount), rng.normal(0.0, amount * 0.4)
    return (color[0] + shift + warm, color[1] + shift, color[2] + shift - warm)


@dataclass(frozen=True)
class Light:
    """All colours RGB 0..255; gains multiply a surface's own colour, per face and channel."""

    mood: str
    """clear, overcast, golden or dusk."""
    season: str
    """summer, autumn, winter or spring, of the city's own hemisphere; "wet" or "dry" in the tropics."""
    snow: bool
    sun_side: float
    """-1: the sun stands to the left, so that right-hand walls are lit; +1: to the right."""
    zenith: RGB
    horizon: RGB
    haze: RGB
    reach: float
    """Metres after which 63 % of a colour is the haze's."""
    cloud: float
    gains: dict[str, RGB]
    """Keys left, right (walls at that side of the street), front (facing the camera), up, under."""

    @property
    def night(self) -> bool:
        """Lamps and windows are lit."""
        return self.mood == "dusk"

    def lit(self, color: RGB, face: str, depth: float = 0.0) -> RGB:
        """A surface's colour as seen: lit by its face, then veiled by `depth` metres of air."""
        gain = self.gains[face]
        shown = (color[0] * gain[0], color[1] * gain[1], color[2] * gain[2])
        return mix(shown, self.haze, 1.0 - exp(-depth / self.reach)) if depth > 0 else shown

    def veiled(self, color: RGB, depth: float) -> RGB:
        """A colour that shines by itself (a lamp, a lit window), veiled by the air only."""
        return mix(color, self.haze, 1.0 - exp(-depth / self.reach))


_SKIES: dict[str, tuple[RGB, RGB]] = {
    "clear": ((74, 128, 196), (196, 218, 234)),
    "overcast": ((168, 176, 186), (216, 220, 223)),
    "golden": ((112, 140, 182), (250, 214, 166)),
    "dusk": ((52, 64, 112), (232, 158, 122)),
}
_SUN: dict[str, RGB] = {
    "clear": (0.54, 0.50, 0.43),
    "overcast": (0.06, 0.06, 0.06),
    "golden": (0.62, 0.43, 0.22),
    "dusk": (0.12, 0.08, 0.06),
}
_AMBIENT: dict[str, RGB] = {
    "clear": (0.52, 0.55, 0.62),
    "overcast": (0.83, 0.84, 0.86),
    "golden": (0.50, 0.47, 0.50),
    "dusk": (0.44, 0.42, 0.54),
}


def _season(rng: np.random.Generator, lat: float) -> str:
    if abs(lat) < 20:
        return "wet" if happens(rng, 0.5) else "dry"
    return ("summer", "autumn", "winter", "spring")[int(rng.random() * 4)]


def make_light(city: City, rng: np.random.Generator) -> Light:
    """Draw time of day, season and weather as the city's latitude and climate have them."""
    climate, high = city.climate, abs(city.lat)
    season = _season(rng, city.lat)
    cloudy = min(0.9, climate.cloud + (0.15 if season in {"winter", "wet"} else 0.0))
    mood = "overcast" if happens(rng, cloudy) else weighted(rng, ["clear", "golden", "dusk"], [0.72, 0.2, 0.08])
    cold = season == "winter" or (season in {"autumn", "spring"} and high > 50 and happens(rng, 0.2))
    snow = cold and happens(rng, climate.snow * 1.6)
    zenith, horizon = _SKIES[mood]
    if mood == "clear":  # deep and saturated under a high sun, pale in the north
        zenith = mix(zenith, (40, 104, 196), max(0.0, 1 - high / 30)) if high < 30 else zenith
        zenith = mix(zenith, (146, 178, 210), min(1.0, max(0.0, (high - 40) / 25)))
    dust = climate.dust * between(rng, 0.5, 1.0)
    haze_share = min(1.0, climate.haze * between(rng, 0.6, 1.4))
    zenith = mix(mix(zenith, (196, 180, 150), 0.55 * dust), (200, 204, 206), 0.5 * haze_share)
    horizon = mix(mix(horizon, (222, 200, 160), 0.8 * dust), (214, 214, 210), 0.35 * haze_share)
    sun_side = -1.0 if happens(rng, 0.5) else 1.0
    height = min(1.0, max(0.25, np.cos(np.radians(high - (10 if season == "summer" else -12)))))
    if mood == "golden":
        height = 0.3
    exposure = between(rng, 0.92, 1.1)
    gains = _gains(mood, sun_side, float(height), exposure, snow)
    reach = between(rng, 260, 420) * (1 - 0.72 * haze_share)
    cloud = between(rng, 0.1, 0.5) + 0.5 * climate.cloud if mood != "overcast" else 1.0
    return Light(mood, season, snow, sun_side, zenith, horizon, mix(horizon, zenith, 0.15), reach, cloud, gains)


def _gains(mood: str, sun_side: float, height: float, exposure: float, snow: bool) -> dict[str, RGB]:
    sun, sky = _SUN[mood], _AMBIENT[mood]
    shares = {
        "left": 0.25 + 0.75 * max(0.0, sun_side) * (1.2 - 0.5 * height) - 0.2 * max(0.0, -sun_side),
        "right": 0.25 + 0.75 * max(0.0, -sun_side) * (1.2 - 0.5 * height) - 0.2 * max(0.0, sun_side),
        "front": 0.45,
        "up": 0.35 + 0.65 * height,
        "under": 0.0,
    }
    ambient = {"under": 0.6, "up": 1.05}
    bounce = 0.07 if snow else 0.0
    return {
        face: tuple(exposure * (sky[i] * ambient.get(face, 1.0) + bounce + sun[i] * share) for i in range(3))
        for face, share in shares.items()
    }  # type: ignore[return-value]
