"""Drawing vehicles: bodies stretched across from a side outline, wheels, screens, lights, number plates."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from signpost_kit.benchmark.town.canvas import Canvas
from signpost_kit.benchmark.town.dice import between, happens, pick
from signpost_kit.benchmark.town.light import RGB, Light, mix, parse_color
from signpost_kit.benchmark.town.vehicles import PAINTS, Vehicle, glass_of, outline_of

__all__ = ["draw_vehicle"]


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
        share = outline_of(vehicle.kind)
        along = share[:, 0] if vehicle.away else 1.0 - share[:, 0]
        self.z = vehicle.z + along * vehicle.length
        self.y = share[:, 1]
        self.glass = glass_of(vehicle.kind)
        self.half = vehicle.width / 2

    def lit(self, color: RGB, face: str) -> RGB:
        return self.light.lit(color, face, self.depth)

    def at(self, x: ArrayLike, y: ArrayLike, z: ArrayLike) -> NDArray[np.float64]:
        """Corners (n, 3): x from the vehicle's middle, y and z as in the street; numbers or arrays of n."""
        out = np.empty((max(np.size(x), np.size(y), np.size(z)), 3))
        out[:, 0], out[:, 1], out[:, 2] = x, y, z
        out[:, 0] += self.v.x
        return out

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
        self.rect(-h, h, 0.2, min(1.0, high * 0.6), v.paint, z=v.z)
        self.rect(-h * 0.86, h * 0.86, min(1.0, high * 0.6), high, v.roof, z=v.z + 0.4)
        self.rect(-h * 0.78, h * 0.78, min(1.02, high * 0.62), high - 0.14, (46, 54, 62), z=v.z + 0.39)
        lamp: RGB = (200, 32, 30) if v.away else (238, 238, 226)
        for x in (-h, h - 0.35):
            self.rect(x, x + 0.35, 0.6, 0.82, lamp, z=v.z - 0.01, shine=True)
        self.rect(-0.27, 0.27, 0.42, 0.56, v.plate, z=v.z - 0.01, shine=True)

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
            glass = self.at(
                x * 1.005, np.append(np.minimum(y, high - 0.1), [belt, belt]), np.append(z, [z[-1], z[0]])
            )
            self.canvas.solid(glass, self.lit((44, 50, 58), face))
            posts = 6 if v.length > 9 else 1
            for share in np.linspace(0, 1, posts + 2)[1:-1]:
                zz = z.min() + (z.max() - z.min()) * share
                self.canvas.solid(
                    self.at(x * 1.006, [belt, high - 0.05, high - 0.05, belt], [zz - 0.05] * 2 + [zz + 0.05] * 2),
                    self.lit(v.paint, face),
                )
        if v.kind == "double":
            floor = self.at(x * 1.006, [2.35, 2.75, 2.75, 2.35], [v.z] * 2 + [v.z + v.length] * 2)
            self.canvas.solid(floor, self.lit(v.paint, face))
        if v.stripe:
            stripe = self.at(x * 1.006, [0.8, 0.95, 0.95, 0.8], [v.z + 0.1] * 2 + [v.z + v.length - 0.1] * 2)
            self.canvas.solid(stripe, self.lit(v.stripe, face))
        turn = np.linspace(0, 2 * np.pi, 18, endpoint=False)
        for share in (0.19, 0.81) if v.kind != "tram" else ():
            for radius, color in ((0.34, (24, 24, 26)), (0.2, (140, 142, 144))):
                ring = self.at(
                    x * 1.01, 0.33 + radius * np.sin(turn), v.z + v.length * share + radius * np.cos(turn)
                )
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
            self.rect(x, x + 0.22, 0.0, 0.34, (22, 22, 24), z=z + 0.15)
        self.rect(-h, h, 0.28, 0.45, mix(v.paint, (40, 40, 42), 0.6), z=z)
        low, tall = (top - 0.3, 0.2) if v.length < 9 else (0.7, 0.25)
        for sign in (-1, 1):
            x0, x1 = sorted((sign * (h - 0.04), sign * (h - 0.36)))
            if v.away:
                lamp: RGB = (232, 40, 34) if self.light.night else (196, 30, 30)
                self.rect(x0, x1, low, low + tall, lamp, z=z - 0.01, shine=self.light.night)
            else:
                lamp = (255, 250, 224) if self.light.night else (226, 228, 226)
                self.rect(x0, x1, low, low + tall, lamp, z=z - 0.01, shine=True)
        if not v.away:
            self.rect(-h * 0.5, h * 0.5, low - 0.02, low + tall * 0.9, (34, 36, 40), z=z - 0.01)
        if self.y.max() > 1.9 or v.kind in {"suv", "tuktuk"}:
            high = self.y.max()
            self.canvas.solid(
                self.at(
                    [-h * 0.86, h * 0.86, h * 0.82, -h * 0.82],
                    [top + 0.08, top + 0.08, high - 0.22, high - 0.22],
                    z,
                ),
                self.lit((44, 52, 60), "front"),
            )
            if v.kind == "double":
                self.rect(-h, h, 2.35, 2.75, v.paint, z=z - 0.01)
        if v.kind != "tram":
            self._plate(z - 0.02)
        if v.taxi and self.depth < 40:
            self.rect(
                -0.28, 0.28, self.y.max(), self.y.max() + 0.17, (250, 226, 120), z=float(self.z.mean()), shine=True
            )

    def rect(
        self, x0: float, x1: float, y0: float, y1: float, color: RGB, *, z: float, shine: bool = False
    ) -> None:
        quad = self.at([x0, x1, x1, x0], [y1, y1, y0, y0], z)
        self.canvas.solid(quad, self.light.veiled(color, self.depth) if shine else self.lit(color, "front"))

    def _plate(self, z: float) -> None:
        """A number plate with strokes for letters: too small to read, as on most photographs."""
        v = self.v
        half, tall = (0.2, 0.17) if v.square else (0.3, 0.13)
        y = 0.46 if v.kind != "tuktuk" else 0.4
        self.rect(-half - 0.015, half + 0.015, y - 0.015, y + tall + 0.015, (30, 30, 32), z=z)
        self.rect(-half, half, y, y + tall, v.plate, z=z, shine=True)
        band, right, upper = v.bands
        if band:
            self.rect(-half, -half + 0.07, y, y + tall, parse_color(band), z=z, shine=True)
        if right:
            self.rect(half - 0.07, half, y, y + tall, parse_color(right), z=z, shine=True)
        if upper:
            self.rect(-half, half, y + tall * 0.7, y + tall, parse_color(upper), z=z, shine=True)
        if self.canvas.camera.focal / self.depth > 45:
            x = np.array([-0.6, -0.42, -0.24, 0.02, 0.2, 0.38, 0.56]) * half / 0.66
            for left in x:
                self.rect(left, left + 0.04, y + tall * 0.22, y + tall * 0.72, v.ink, z=z, shine=True)


def _draw_scooter(canvas: Canvas, light: Light, v: Vehicle, depth: float, rng: np.random.Generator) -> None:
    """A scooter with its rider, or parked without."""
    foot = canvas.camera.project((v.x, 0.0, v.z))
    s = canvas.camera.focal / depth
    x, y = float(foot[0]), float(foot[1])

    def tone(color: RGB) -> RGB:
        return light.lit(color, "front", depth)

    canvas.disc((x, y - 0.02 * s), 0.4 * s, tone((60, 60, 62)), 0.25)
    canvas.fill(
        [
            np.array(
                [(x - 0.07 * s, y), (x + 0.07 * s, y), (x + 0.07 * s, y - 0.5 * s), (x - 0.07 * s, y - 0.5 * s)]
            )
        ],
        tone((24, 24, 26)),
    )
    body = np.array(
        [
            (x - 0.17 * s, y - 0.25 * s),
            (x + 0.17 * s, y - 0.25 * s),
            (x + 0.2 * s, y - 0.8 * s),
            (x - 0.2 * s, y - 0.8 * s),
        ]
    )
    canvas.fill([body], tone(v.paint))
    canvas.strokes(
        [np.array([(x - 0.36 * s, y - 1.0 * s), (x + 0.36 * s, y - 1.0 * s)])], tone((40, 40, 42)), 0.05 * s
    )
    lamp: RGB = (200, 34, 34) if v.away else (250, 248, 226)
    canvas.disc((x, y - 0.72 * s), 0.07 * s, light.veiled(lamp, depth))
    plate = np.array(
        [
            (x - 0.1 * s, y - 0.5 * s),
            (x + 0.1 * s, y - 0.5 * s),
            (x + 0.1 * s, y - 0.38 * s),
            (x - 0.1 * s, y - 0.38 * s),
        ]
    )
    canvas.fill([plate], light.veiled(v.plate, depth))
    if happens(rng, 0.7):
        cloth: RGB = pick(rng, ((60, 90, 150), (190, 60, 60), (220, 210, 190), (60, 70, 60), (230, 160, 60)))
        torso = np.array(
            [
                (x - 0.2 * s, y - 0.8 * s),
                (x + 0.2 * s, y - 0.8 * s),
                (x + 0.25 * s, y - 1.35 * s),
                (x - 0.25 * s, y - 1.35 * s),
            ]
        )
        canvas.fill([torso], tone(cloth))
        canvas.disc((x, y - 1.5 * s), between(rng, 0.13, 0.16) * s, tone(pick(rng, PAINTS)))
