"""Cars, vans, buses, three-wheelers and scooters: bodies cut from a side outline, with lights and number plates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from signpost_kit.benchmark.town.atlas import City
from signpost_kit.benchmark.town.canvas import Canvas
from signpost_kit.benchmark.town.dice import between, happens, pick, weighted
from signpost_kit.benchmark.town.light import RGB, Light, mix, parse_color

__all__ = ["Vehicle", "draw_vehicle", "draw_lots"]

_PAINTS: tuple[RGB, ...] = ((232, 232, 230), (40, 42, 46), (150, 154, 158), (92, 98, 106), (150, 36, 36), (44, 72, 120))
_PAINTS += ((206, 202, 194), (62, 96, 84), (196, 198, 200), (228, 228, 226), (170, 174, 178))

# Upper outline from the rear bumper over the roof to the front bumper: (share of length, height in metres), and the
# pairs of corners between which there is glass.
_SHAPES: dict[str, tuple[float, float, tuple[tuple[float, float], ...], tuple[int, ...]]] = {
    "saloon": (4.5, 1.75, ((0, 0.35), (0, 0.85), (0.03, 0.98), (0.18, 1.0), (0.32, 1.42), (0.58, 1.44), (0.74, 0.98), (0.97, 0.82), (1, 0.6), (1, 0.3)), (3, 5)),
    "hatch": (3.8, 1.7, ((0, 0.35), (0, 0.9), (0.03, 1.0), (0.12, 1.48), (0.58, 1.5), (0.76, 1.0), (0.96, 0.86), (1, 0.6), (1, 0.3)), (2, 4)),
    "beetle": (3.9, 1.6, ((0, 0.35), (0.02, 0.7), (0.14, 1.08), (0.3, 1.44), (0.52, 1.5), (0.68, 1.1), (0.88, 0.92), (0.98, 0.66), (1, 0.35)), (2, 4)),
    "suv": (4.5, 1.85, ((0, 0.4), (0, 1.0), (0.02, 1.1), (0.08, 1.7), (0.62, 1.74), (0.76, 1.16), (0.97, 1.04), (1, 0.7), (1, 0.4)), (2, 4)),
    "van": (4.9, 1.9, ((0, 0.4), (0, 1.1), (0.01, 1.2), (0.02, 2.0), (0.78, 2.05), (0.9, 1.2), (0.99, 1.0), (1, 0.7), (1, 0.4)), (2, 4)),
    "bus": (10.5, 2.5, ((0, 0.4), (0, 1.2), (0, 1.5), (0.005, 3.0), (0.99, 3.0), (1, 1.3), (1, 1.0), (1, 0.7), (1, 0.35)), (2, 4)),
    "tuktuk": (2.7, 1.3, ((0, 0.35), (0, 0.8), (0.0, 0.95), (0.04, 1.72), (0.72, 1.75), (0.84, 1.05), (0.95, 0.9), (1, 0.7), (1, 0.3)), (2, 4)),
}


@dataclass(frozen=True)
class Vehicle:
    """One vehicle: its middle at x, its end nearest to the camera at z; `away` when it drives from the camera."""

    kind: str
    x: float
    z: float
    away: bool
    paint: RGB
    roof: RGB
    plate: RGB
    ink: RGB
    bands: tuple[str, str, str]
    square: bool
    stripe: RGB | None = None
    taxi: bool = False

    @property
    def length(self) -> float:
        """Metres."""
        return 2.0 if self.kind == "scooter" else _SHAPES[self.kind][0]

    @property
    def width(self) -> float:
        """Metres."""
        return 0.7 if self.kind == "scooter" else _SHAPES[self.kind][1]

    @property
    def height(self) -> float:
        """Metres."""
        return 1.5 if self.kind == "scooter" else max(h for _, h in _SHAPES[self.kind][2])


def draw_lots(city: City, rng: np.random.Generator, x: float, z: float, away: bool) -> Vehicle:
    """Which vehicle stands or drives at a place, by the city's habits."""
    street, plate = city.street, city.plate
    options: list[tuple[str, float]] = [("saloon", 2.2), ("hatch", 2.4), ("suv", 1.8), ("van", 0.7), ("taxi", 1.5)]
    options += [("tuktuk", street.tuktuk * 2.0), ("matatu", street.matatu * 2), ("danfo", street.danfo * 3.0)]
    options += [("beetle", street.beetle * 2), ("scooter", street.scooters * 2.2)]
    name = weighted(rng, [o[0] for o in options], [o[1] for o in options])
    paint = pick(rng, _PAINTS)
    roof, stripe, kind = paint, None, name
    if name == "taxi":
        kind = weighted(rng, ["saloon", "hatch"], [3, 1])
        paint = parse_color(street.taxi_alt if street.taxi_alt and happens(rng, 0.4) else street.taxi)
        roof = parse_color(street.taxi_roof) if street.taxi_roof else paint
        stripe = (30, 30, 30) if street.checker else None
    elif name == "danfo":
        kind, paint, roof, stripe = "van", (242, 190, 24), (242, 190, 24), (36, 36, 36)
    elif name == "matatu":
        kind, stripe = "van", (240, 200, 40)
        paint = roof = pick(rng, ((240, 240, 236), (120, 40, 120), (40, 90, 60), (232, 232, 230)))
    elif name == "beetle":
        paint = roof = pick(rng, ((232, 228, 214), (120, 170, 190), (60, 120, 80), (190, 60, 50)))
    elif name == "tuktuk":
        paint = parse_color({"TH": "#2f5ab0", "IN": "#2f7a3c", "NG": "#f2c414", "ID": "#3a7ab0"}.get(city.country, "#c8242a"))
        roof = parse_color({"TH": "#e8c020", "IN": "#f0c81c", "NG": "#f2c414", "ID": "#2a2a2a"}.get(city.country, "#20242a"))
    ground = plate.rear if (away and plate.rear) else plate.front
    if name == "taxi" and plate.taxi:
        ground = plate.taxi
    elif plate.kei and kind == "hatch" and happens(rng, 0.6):
        ground = plate.kei
    elif (plate.ev and happens(rng, 0.25)) or (plate.old and happens(rng, 0.4)):
        ground = plate.ev or plate.old
    ink = parse_color(plate.ink) if ground != plate.old else (240, 240, 236)
    return Vehicle(
        kind, x, z, away, paint, roof, parse_color(ground), ink,
        (plate.band, plate.band_right, plate.band_top), plate.shape == "square", stripe, name == "taxi",
    )  # fmt: skip


def draw_vehicle(canvas: Canvas, light: Light, vehicle: Vehicle, rng: np.random.Generator) -> None:
    """Draw one vehicle standing on the road; nothing when it reaches behind the camera."""
    depth = canvas.camera.depth(vehicle.x, vehicle.z)
    if depth < 2.2:
        return
    if vehicle.kind == "scooter":
        _draw_scooter(canvas, light, vehicle, depth, rng)
        return
    _Body(canvas, light, vehicle, depth).draw()


class _Body:
    def __init__(self, canvas: Canvas, light: Light, vehicle: Vehicle, depth: float) -> None:
        self.canvas, self.light, self.v, self.depth = canvas, light, vehicle, depth
        _, width, outline, glass = _SHAPES[vehicle.kind]
        share = np.array(outline)
        along = share[:, 0] if vehicle.away else 1.0 - share[:, 0]
        self.z = vehicle.z + along * vehicle.length
        self.y = share[:, 1]
        self.glass = glass
        self.half = width / 2

    def lit(self, color: RGB, face: str) -> RGB:
        return self.light.lit(color, face, self.depth)

    def at(self, x: object, y: object, z: object) -> NDArray[np.float64]:
        x, y, z = np.broadcast_arrays(*(np.asarray(p, dtype=np.float64) for p in (x, y, z)))
        return np.stack([self.v.x + x, y, z], axis=-1)

    def draw(self) -> None:
        v, h = self.v, self.half
        grow = 0.25
        shadow = self.at([-h - grow, h + grow, h + grow, -h - grow], 0.01, [v.z - 0.2] * 2 + [v.z + v.length] * 2)
        self.canvas.veil(self.canvas.camera.clip(shadow), (16, 18, 26), 0.55)
        if self.depth > 32:
            self._draw_far()
            return
        eye = self.canvas.camera.x - v.x
        side = -1 if eye < -h else (1 if eye > h else 0)
        self._top()
        if side:
            self._side(side)
        self._end()

    def _draw_far(self) -> None:
        """The outline, the screen and the lights are all that shows from afar."""
        v, h, high = self.v, self.half, self.y.max()
        self.rect(-h, h, 0.2, min(1.0, high * 0.6), v.paint, v.z)
        self.rect(-h * 0.86, h * 0.86, min(1.0, high * 0.6), high, v.roof, v.z + 0.4)
        self.rect(-h * 0.78, h * 0.78, min(1.02, high * 0.62), high - 0.14, (46, 54, 62), v.z + 0.39)
        lamp: RGB = (200, 32, 30) if v.away else (238, 238, 226)
        for x in (-h, h - 0.35):
            self.rect(x, x + 0.35, 0.6, 0.82, lamp, v.z - 0.01, shine=True)
        self.rect(-0.27, 0.27, 0.42, 0.56, v.plate, v.z - 0.01, shine=True)

    def _top(self) -> None:
        """Bonnet, screens, roof: the quads along the upper outline that can be seen, far ones first."""
        h, eye_y = self.half, self.canvas.camera.y
        order = range(len(self.z) - 1)
        for i in sorted(order, key=lambda i: -(self.z[i] + self.z[i + 1])):
            z0, z1, y0, y1 = self.z[i], self.z[i + 1], self.y[i], self.y[i + 1]
            near_low = (y0 < y1) == (z0 < z1)
            flat = abs(z0 - z1) > abs(y0 - y1) * 1.2
            if not near_low and not (flat and eye_y > max(y0, y1)):
                continue
            inset = [0.0 if y <= 1.05 else 0.14 for y in (y0, y0, y1, y1)]
            x = np.array([-h + inset[0], h - inset[1], h - inset[2], -h + inset[3]])
            quad = self.at(x, [y0, y0, y1, y1], [z0, z0, z1, z1])
            color = (46, 54, 62) if i in self.glass else (self.v.roof if min(y0, y1) > 1.3 else self.v.paint)
            face = "up" if flat and i not in self.glass else "front"
            self.canvas.solid(quad, self.lit(color, face))

    def _side(self, side: int) -> None:
        v, x = self.v, side * self.half
        face = "left" if side > 0 else "right"
        body = self.at(x, np.append(self.y, [0.3, 0.3]), np.append(self.z, [self.z[-1], self.z[0]]))
        self.canvas.solid(body, self.lit(v.paint, face))
        high = self.y.max()
        belt = 1.0 if high < 1.9 else 1.2
        upper = self.y > belt - 0.05
        if upper.sum() >= 2:
            z, y = self.z[upper], self.y[upper]
            middle = (z.min() + z.max()) / 2
            z = middle + (z - middle) * 0.93
            glass = self.at(x * 1.005, np.append(np.minimum(y, high - 0.1), [belt, belt]), np.append(z, [z[-1], z[0]]))
            self.canvas.solid(glass, self.lit((44, 50, 58), face))
            posts = 5 if v.kind == "bus" else 1
            for share in np.linspace(0, 1, posts + 2)[1:-1]:
                zz = z.min() + (z.max() - z.min()) * share
                self.canvas.solid(self.at(x * 1.006, [belt, high - 0.05, high - 0.05, belt], [zz - 0.05] * 2 + [zz + 0.05] * 2), self.lit(v.paint, face))
        if v.stripe:
            stripe = self.at(x * 1.006, [0.8, 0.95, 0.95, 0.8], [v.z + 0.1] * 2 + [v.z + v.length - 0.1] * 2)
            self.canvas.solid(stripe, self.lit(v.stripe, face))
        turn = np.linspace(0, 2 * np.pi, 18, endpoint=False)
        for share in (0.19, 0.81):
            for radius, color in ((0.34, (24, 24, 26)), (0.2, (140, 142, 144))):
                ring = self.at(x * 1.01, 0.33 + radius * np.sin(turn), v.z + v.length * share + radius * np.cos(turn))
                self.canvas.solid(ring, self.lit(color, face))

    def _end(self) -> None:
        """The face towards the camera: rear with red lights, or front with grille and white ones."""
        v, h, z = self.v, self.half, self.v.z - 0.01
        top = 1.0 if self.y.max() < 1.9 else 1.15
        if v.kind in {"saloon", "hatch", "beetle"}:
            top = 0.9
        base = self.at([-h, h, h, -h], [0.3, 0.3, top, top], z)
        self.canvas.solid(base, self.lit(v.paint, "front"))
        for x in (-h + 0.1, h - 0.32):
            self.rect(x, x + 0.22, 0.0, 0.34, (22, 22, 24), z + 0.15)
        self.rect(-h, h, 0.28, 0.45, mix(v.paint, (40, 40, 42), 0.6), z)
        low, tall = (top - 0.3, 0.2) if v.kind != "bus" else (0.7, 0.25)
        for sign in (-1, 1):
            x0, x1 = sorted((sign * (h - 0.04), sign * (h - 0.36)))
            if v.away:
                lamp: RGB = (232, 40, 34) if self.light.night else (196, 30, 30)
                self.rect(x0, x1, low, low + tall, lamp, z - 0.01, shine=self.light.night)
            else:
                lamp = (255, 250, 224) if self.light.night else (226, 228, 226)
                self.rect(x0, x1, low, low + tall, lamp, z - 0.01, shine=True)
        if not v.away:
            self.rect(-h * 0.5, h * 0.5, low - 0.02, low + tall * 0.9, (34, 36, 40), z - 0.01)
        if self.y.max() > 1.9 or v.kind in {"suv", "tuktuk"}:
            high = self.y.max()
            self.canvas.solid(
                self.at([-h * 0.86, h * 0.86, h * 0.82, -h * 0.82], [top + 0.08, top + 0.08, high - 0.22, high - 0.22], z),
                self.lit((44, 52, 60), "front"),
            )
        self._plate(z - 0.02)
        if v.taxi and self.depth < 40:
            self.rect(-0.28, 0.28, self.y.max(), self.y.max() + 0.17, (250, 226, 120), float(self.z.mean()), shine=True)

    def rect(self, x0: float, x1: float, y0: float, y1: float, color: RGB, z: float, shine: bool = False) -> None:
        quad = self.at([x0, x1, x1, x0], [y1, y1, y0, y0], z)
        self.canvas.solid(quad, self.light.veiled(color, self.depth) if shine else self.lit(color, "front"))

    def _plate(self, z: float) -> None:
        """A number plate with strokes for letters: too small to read, as on most photographs."""
        v = self.v
        half, tall = (0.2, 0.17) if v.square else (0.3, 0.13)
        y = 0.46 if v.kind != "tuktuk" else 0.4
        self.rect(-half - 0.015, half + 0.015, y - 0.015, y + tall + 0.015, (30, 30, 32), z)
        self.rect(-half, half, y, y + tall, v.plate, z, shine=True)
        band, right, upper = v.bands
        if band:
            self.rect(-half, -half + 0.07, y, y + tall, parse_color(band), z, shine=True)
        if right:
            self.rect(half - 0.07, half, y, y + tall, parse_color(right), z, shine=True)
        if upper:
            self.rect(-half, half, y + tall * 0.7, y + tall, parse_color(upper), z, shine=True)
        if self.canvas.camera.focal / self.depth > 45:
            x = np.array([-0.6, -0.42, -0.24, 0.02, 0.2, 0.38, 0.56]) * half / 0.66
            for left in x:
                self.rect(left, left + 0.04, y + tall * 0.22, y + tall * 0.72, v.ink, z, shine=True)


def _draw_scooter(canvas: Canvas, light: Light, v: Vehicle, depth: float, rng: np.random.Generator) -> None:
    """A scooter with its rider, or parked without."""
    foot = canvas.camera.project((v.x, 0.0, v.z))
    s = canvas.camera.focal / depth
    x, y = float(foot[0]), float(foot[1])

    def tone(color: RGB) -> RGB:
        return light.lit(color, "front", depth)

    canvas.disc((x, y - 0.02 * s), 0.4 * s, tone((60, 60, 62)), 0.25)
    canvas.fill([np.array([(x - 0.07 * s, y), (x + 0.07 * s, y), (x + 0.07 * s, y - 0.5 * s), (x - 0.07 * s, y - 0.5 * s)])], tone((24, 24, 26)))
    body = np.array([(x - 0.17 * s, y - 0.25 * s), (x + 0.17 * s, y - 0.25 * s), (x + 0.2 * s, y - 0.8 * s), (x - 0.2 * s, y - 0.8 * s)])
    canvas.fill([body], tone(v.paint))
    canvas.strokes([np.array([(x - 0.36 * s, y - 1.0 * s), (x + 0.36 * s, y - 1.0 * s)])], tone((40, 40, 42)), 0.05 * s)
    lamp: RGB = (200, 34, 34) if v.away else (250, 248, 226)
    canvas.disc((x, y - 0.72 * s), 0.07 * s, light.veiled(lamp, depth))
    plate = np.array([(x - 0.1 * s, y - 0.5 * s), (x + 0.1 * s, y - 0.5 * s), (x + 0.1 * s, y - 0.38 * s), (x - 0.1 * s, y - 0.38 * s)])
    canvas.fill([plate], light.veiled(v.plate, depth))
    if happens(rng, 0.7):
        cloth: RGB = pick(rng, ((60, 90, 150), (190, 60, 60), (220, 210, 190), (60, 70, 60), (230, 160, 60)))
        torso = np.array([(x - 0.2 * s, y - 0.8 * s), (x + 0.2 * s, y - 0.8 * s), (x + 0.25 * s, y - 1.35 * s), (x - 0.25 * s, y - 1.35 * s)])
        canvas.fill([torso], tone(cloth))
        canvas.disc((x, y - 1.5 * s), between(rng, 0.13, 0.16) * s, tone(pick(rng, _PAINTS)))
