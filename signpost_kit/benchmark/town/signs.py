"""Signs of a street: which texts, on which boards, where, and how they are read back as spans."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from signpost_kit.benchmark.groups import Span
from signpost_kit.benchmark.town.atlas import City
from signpost_kit.benchmark.town.canvas import Canvas
from signpost_kit.benchmark.town.dice import between, happens, pick
from signpost_kit.benchmark.town.front import Building
from signpost_kit.benchmark.town.ground import KERB
from signpost_kit.benchmark.town.layout import Layout
from signpost_kit.benchmark.town.lettering import EM, Board, color_name, make_board, paste_board
from signpost_kit.benchmark.town.light import RGB, Light, mix, parse_color
from signpost_kit.benchmark.town.wording import Order, choose_orders

__all__ = ["Sign", "draw_posts", "draw_sign", "place_signs"]

_TRIES = 150
LEAST_LETTER = 16.0
"""Pixels of an em below which a sign is not placed, for a picture 768 wide."""


Box = tuple[float, float, float, float]
"""Left, top, right, bottom in pixels."""


def _bounds(flat: NDArray[np.float64]) -> Box:
    low, high = flat.min(axis=0), flat.max(axis=0)
    return float(low[0]), float(low[1]), float(high[0]), float(high[1])


@dataclass(frozen=True)
class Sign:
    """A board with its place. `corners` (4, 3) are world metres, clockwise from the text's top left."""

    order: Order
    board: Board
    corners: NDArray[np.float64]
    flat: NDArray[np.float64]
    """The corners in pixels (4, 2)."""
    depth: float
    posts: tuple[NDArray[np.float64], ...]
    ground: RGB
    ink: RGB

    @property
    def box(self) -> Box:
        """Left, top, right, bottom in pixels."""
        return _bounds(self.flat)


Spot = tuple[NDArray[np.float64], tuple[NDArray[np.float64], ...]]


class _Placer:
    """Tries places for boards until one is legible, inside the picture and clear of the others."""

    def __init__(
        self, canvas: Canvas, city: City, plan: Layout, houses: list[Building], rng: np.random.Generator
    ) -> None:
        self.canvas, self.city, self.plan, self.houses, self.rng = canvas, city, plan, houses, rng
        self.taken: list[Box] = []
        self.bars: list[Box] = []

    def place(self, order: Order, board: Board, ground: RGB, ink: RGB) -> Sign | None:
        """The board at a place of its kind, after that anywhere in view, or None if there is no room at all."""
        if self.city.signs.mount == "post":
            plates = [self.on_post, self.on_wall]
        else:
            plates = [self.on_wall, self.on_wall, self.on_post]
        makers: dict[str, list[Callable[[Board, float], Spot | None]]] = {
            "street": plates,
            "direction": [self.on_mast, self.on_post, self.on_mast],
            "shop": [self.over_shop, self.over_shop, self.over_shop, self.over_shop, self.as_blade],
            "notice": [self.as_blade, self.on_wall, self.on_post],
            "stop": [self.on_post],
        }
        choices = makers[order.kind]
        for attempt in range(_TRIES):
            maker = choices[attempt % len(choices)] if attempt < 34 else self.on_post
            if attempt >= 40:
                maker = self.in_view
            spot = maker(board, 0.85 + 0.7 * min(1.0, attempt / 40))
            if spot is None:
                continue
            corners, posts = spot
            seen = self.canvas.camera.look(corners)
            if (seen[:, 2] < 1.5).any():
                continue
            flat = self.canvas.camera.flatten(seen)
            bars = [self.canvas.camera.project(post) for post in posts]
            if (
                self.legible(board, flat)
                and self.clear(flat, self.taken + self.bars)
                and all(self.clear(bar, self.taken) for bar in bars)
            ):
                self.taken.append(_bounds(flat))
                self.bars += [_bounds(bar) for bar in bars]
                return Sign(order, board, corners, flat, float(seen[:, 2].mean()), posts, ground, ink)
        return None

    def legible(self, board: Board, flat: NDArray[np.float64]) -> bool:
        """Inside the picture, facing the camera, letters tall and broad enough."""
        camera = self.canvas.camera
        scale = camera.width / 768
        margin = 5 * scale
        low, high = flat.min(axis=0), flat.max(axis=0)
        if (low < margin).any() or high[0] > camera.width - margin or high[1] > camera.height - margin:
            return False
        width, height = board.size
        left, right = np.linalg.norm(flat[3] - flat[0]), np.linalg.norm(flat[2] - flat[1])
        across = np.linalg.norm(flat[1] - flat[0])
        edge_a, edge_b = flat[1] - flat[0], flat[3] - flat[0]
        if edge_a[0] * edge_b[1] - edge_a[1] * edge_b[0] <= 0:
            return False
        em_tall = min(left, right) / height * EM * (1.0 if len(board.texts) == 1 else 0.86)
        em_wide = across / width * EM
        # A board that fills half the picture is no street scene.
        return bool(
            em_tall >= LEAST_LETTER * 1.18 * scale and em_wide >= 0.46 * em_tall and across < 0.46 * camera.width
        )

    @staticmethod
    def clear(flat: NDArray[np.float64], taken: list[Box]) -> bool:
        """Whether a shape keeps away from the boxes of others."""
        low, high = flat.min(axis=0) - 3, flat.max(axis=0) + 3
        return all(high[0] < t[0] or low[0] > t[2] or high[1] < t[1] or low[1] > t[3] for t in taken)

    # -- kinds of place -------------------------------------------------------------------------------------------

    def facing(self, x: float, y: float, z: float, board: Board, *, em: float, turn: float) -> NDArray[np.float64]:
        """Corners of an upright board centred at (x, y, z), facing the camera but for `turn` radians."""
        w, h = board.size[0] / EM * em / 2, board.size[1] / EM * em / 2
        c, s = np.cos(turn) * w, np.sin(turn) * w
        return np.array(
            [(x - c, y + h, z - s), (x + c, y + h, z + s), (x + c, y - h, z + s), (x - c, y - h, z - s)]
        )

    def on_post(self, board: Board, grow: float) -> Spot:
        rng, plan = self.rng, self.plan
        side = 1 if happens(rng, 0.5) else -1
        x = side * (plan.half + between(rng, 0.3, 0.9))
        z = max(5.5, abs(x - self.canvas.camera.x) * between(rng, 1.1, 2.3))
        em = between(rng, 0.28, 0.4) * grow
        tall = board.size[1] / EM * em
        y = between(rng, 2.0, 3.0) + tall / 2
        turn = self.canvas.camera.yaw * 0.5 + rng.normal(0, 0.16)
        corners = self.facing(x, y, z, board, em=em, turn=-turn)
        half = 0.045
        post = np.array(
            [
                (x - half, KERB, z + 0.03),
                (x + half, KERB, z + 0.03),
                (x + half, y + tall / 2, z + 0.03),
                (x - half, y + tall / 2, z + 0.03),
            ]
        )
        return corners, (post,)

    def on_mast(self, board: Board, grow: float) -> Spot:
        """Over the road on an arm, or between two posts beside it."""
        rng, plan = self.rng, self.plan
        side = plan.drive if happens(rng, 0.7) else -plan.drive
        z, em = between(rng, 9, 17), between(rng, 0.42, 0.52) * grow
        wide, tall = board.size[0] / EM * em, board.size[1] / EM * em
        foot = side * (plan.half + 0.5)
        y = between(rng, 4.4, 5.4)
        x = foot - side * (wide / 2 + between(rng, 0.2, 1.4))
        corners = self.facing(x, y, z, board, em=em, turn=0.0)
        half, top = 0.09, y + tall / 2 + 0.25
        pole = np.array(
            [(foot - half, KERB, z), (foot + half, KERB, z), (foot + half, top, z), (foot - half, top, z)]
        )
        end = x - side * wide * 0.42
        arm = np.array([(foot, top - 0.28, z), (end, top - 0.28, z), (end, top - 0.16, z), (foot, top - 0.1, z)])
        return corners, (pole, arm)

    def in_view(self, board: Board, grow: float) -> Spot | None:
        """On a post wherever the picture has room: what remains when houses and kerbs offer none."""
        rng, camera = self.rng, self.canvas.camera
        depth, em = between(rng, 6.5, 9.0), 0.3
        across = (between(rng, 0.12, 0.88) - 0.5) * camera.width / camera.focal
        down = (between(rng, 0.15, 0.6) - 0.5) * camera.height / camera.focal
        x, y, z = np.array([camera.x, camera.y, 0.0]) + np.array([across, down, 1.0]) * depth @ camera.rotation
        on_pavement = self.plan.half + 0.1 < abs(x) < self.plan.wall
        if y < 1.2 or z < 2 or not (on_pavement or happens(rng, 0.1)):
            return None
        corners = self.facing(float(x), float(y), float(z), board, em=em, turn=-camera.yaw)
        half = 0.045
        post = np.array([(x - half, 0, z), (x + half, 0, z), (x + half, y, z), (x - half, y, z)])
        return corners, (post,)

    def wall_corners(
        self, side: int, d: float, z0: float, y0: float, *, wide: float, tall: float
    ) -> NDArray[np.float64]:
        """Corners on the plane of the house fronts, from z0 on; the text runs as a reader in the street sees it."""
        x = side * (self.plan.front(side) - d)
        near, far = z0, z0 + wide
        first, last = (far, near) if side > 0 else (near, far)
        return np.array([(x, y0 + tall, first), (x, y0 + tall, last), (x, y0, last), (x, y0, first)])

    def on_wall(self, board: Board, grow: float) -> Spot | None:
        house = self.some_house(5.0, 24.0)
        if house is None:
            return None
        rng = self.rng
        em = between(rng, 0.34, 0.46) * grow
        wide, tall = board.size[0] / EM * em, board.size[1] / EM * em
        room = house.width - wide - 0.3
        if room < 0:
            return None
        z0 = house.z0 + 0.15 + room * between(rng, 0, 1)
        y0 = between(rng, 2.3, 3.0) if not house.shop else house.ground_h + between(rng, 0.1, 0.5)
        if not house.shop:
            y0 = min(y0, max(1.6, house.ground_h - tall - 0.1)) if house.floors > 1 else y0
        d = 0.9 if house.has("oriel") and y0 > house.ground_h else 0.07
        return self.wall_corners(house.side, d, z0, y0, wide=wide, tall=tall), ()

    def over_shop(self, board: Board, grow: float) -> Spot | None:
        house = self.some_house(5.0, 22.0)
        if house is None:
            return None
        rng = self.rng
        em = between(rng, 0.46, 0.6) * grow
        wide, tall = board.size[0] / EM * em, board.size[1] / EM * em
        room = house.width - wide - 0.4
        if room < 0:
            return None
        z0 = house.z0 + 0.2 + room * between(rng, 0.2, 0.8)
        if house.has("veranda"):
            return self.wall_corners(house.side, 2.14, z0, 3.06 - tall / 2, wide=wide, tall=tall), ()
        return self.wall_corners(house.side, 0.16, z0, house.ground_h - 0.6 - tall / 2, wide=wide, tall=tall), ()

    def as_blade(self, board: Board, grow: float) -> Spot | None:
        """Standing out from a wall, facing along the street."""
        house = self.some_house(6.0, 22.0)
        if house is None:
            return None
        rng = self.rng
        em = between(rng, 0.34, 0.46) * grow
        wide, tall = board.size[0] / EM * em, board.size[1] / EM * em
        if wide > 3.6:
            return None
        z = max(house.z0, 5.5) + 0.3 + between(rng, 0, 1) * max(0.0, house.width - 0.6)
        side = house.side
        x = side * (self.plan.front(side) - 0.25 - wide / 2)
        y = between(rng, 3.2, 4.8) + tall / 2
        corners = self.facing(x, y, z, board, em=em, turn=0.0)
        edge = side * self.plan.front(side)
        arms = tuple(
            np.array([(x, level, z), (edge, level, z), (edge, level + 0.06, z), (x, level + 0.06, z)])
            for level in (y + tall * 0.32, y - tall * 0.4)
        )
        return corners, arms

    def some_house(self, near: float, far: float) -> Building | None:
        fit = [h for h in self.houses if h.z1 > near + 1 and h.z0 < far and h.width > 3]
        return pick(self.rng, fit) if fit else None


def _dress(order: Order, city: City, rng: np.random.Generator) -> tuple[Board, RGB, RGB]:
    """The board of one order in the city's colours."""
    signs = city.signs
    if order.kind == "street":
        ground, ink, rim = (parse_color(c) for c in signs.plate)
        return make_board(order.texts, ground, ink, rim=rim), ground, ink
    if order.kind == "direction":
        ground, ink = (parse_color(c) for c in signs.direction)
        return make_board(order.texts, ground, ink, arrow=pick(rng, ("up", "left", "right"))), ground, ink
    if order.kind == "shop":
        ground, ink = (parse_color(c) for c in pick(rng, signs.shops))
        return (
            make_board(order.texts, ground, ink, rim=mix(ink, ground, 0.4), weight=pick(rng, (500, 700))),
            ground,
            ink,
        )
    if order.kind == "stop":
        ground, ink = (190, 26, 32), (250, 250, 246)
        shape = "triangle" if city.country == "JP" else ("octagon" if len(order.texts[0]) <= 6 else "plate")
        return make_board(order.texts, ground, ink, shape=shape, weight=700), ground, ink
    pairs: tuple[tuple[RGB, RGB], ...] = (
        ((22, 80, 168), (250, 250, 246)), ((0, 118, 74), (250, 250, 246)), ((198, 34, 38), (252, 248, 238)),
        ((246, 206, 40), (28, 28, 30)), ((244, 243, 238), (186, 28, 34)),
    )  # fmt: skip
    ground, ink = pick(rng, pairs)
    return make_board(order.texts, ground, ink, shape=pick(rng, ("plate", "pill")), weight=700), ground, ink


def place_signs(
    canvas: Canvas, city: City, plan: Layout, houses: list[Building], rng: np.random.Generator
) -> list[Sign]:
    """Choose texts and find a place for each: two to four spans, far signs first."""
    placer = _Placer(canvas, city, plan, houses, rng)
    signs: list[Sign] = []
    orders, spare = choose_orders(city, rng)
    for order in orders + spare:
        lines = sum(len(sign.order.texts) for sign in signs)
        if order in spare and lines >= 2:
            break
        board, ground, ink = _dress(order, city, rng)
        sign = placer.place(order, board, ground, ink)
        if sign is not None:
            signs.append(sign)
    return sorted(signs, key=lambda sign: -sign.depth)


def draw_posts(canvas: Canvas, light: Light, sign: Sign) -> None:
    """Draw what carries a sign."""
    for post in sign.posts:
        canvas.solid(post, light.lit((104, 108, 110), "front", sign.depth))


def draw_sign(canvas: Canvas, light: Light, sign: Sign) -> list[Span]:
    """Draw the board of one sign and return its lines as spans."""
    board = sign.board
    gain = np.array([light.gains["front"]]) * 0.5 + 0.5
    if light.night:
        gain = gain * 0.5 + 0.5
    shown = board.pixels.copy()
    shown[..., :3] = np.clip(
        shown[..., :3] * gain * between_haze(light, sign.depth)[0] + between_haze(light, sign.depth)[1], 0, 255
    )
    polygons = paste_board(canvas, Board(shown, board.quads, board.texts), sign.flat)
    return [
        Span(
            text=text,
            polygon=tuple((round(float(x), 2), round(float(y), 2)) for x, y in polygon),
            location=_where(canvas, sign, index),
        )
        for index, (text, polygon) in enumerate(zip(board.texts, polygons, strict=True))
    ]


def between_haze(light: Light, depth: float) -> tuple[float, NDArray[np.float64]]:
    """Share of a colour that comes through the air, and what the air adds."""
    through = float(np.exp(-depth / light.reach))
    return through, np.array(light.haze) * (1 - through)


_NOUNS = {
    "street": "street plate",
    "direction": "direction sign",
    "shop": "shop sign",
    "notice": "notice board",
    "stop": "stop sign",
}


def _where(canvas: Canvas, sign: Sign, index: int) -> str:
    left, _, right, _ = sign.box
    third = (left + right) / 2 / canvas.camera.width
    place = "at the left" if third < 0.38 else ("at the right" if third > 0.62 else "in the middle")
    line = "" if len(sign.order.texts) == 1 else ("upper line, " if index == 0 else "lower line, ")
    return (
        f"{line}{color_name(sign.ink)} letters on the {color_name(sign.ground)} {_NOUNS[sign.order.kind]} {place}"
    )
