"""What the signs of one scene say: general words, shops, the names of streets, districts and the city."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from signpost_kit.benchmark.town.atlas import City
from signpost_kit.benchmark.town.dice import happens, pick, weighted

__all__ = ["Order", "all_texts", "choose_orders", "split_lines"]

_MOST = 4


@dataclass(frozen=True)
class Order:
    """One sign to be made: its kind and its one or two lines.

    Kinds, with the tier they are meant for: stop and notice (T1), shop (T2; T3 when it names its city), street and
    direction (T3).
    """

    kind: str
    texts: tuple[str, ...]


def split_lines(entry: str) -> tuple[str, ...]:
    """`a | b` of the atlas as two lines."""
    return tuple(part.strip() for part in entry.split("|"))


def all_texts(city: City) -> tuple[str, ...]:
    """Every line that a sign of this city may carry."""
    texts = city.texts
    entries = (*texts.streets, *texts.districts, *texts.shops, *texts.generic)
    return tuple(dict.fromkeys(line for entry in entries for line in split_lines(entry)))


def _shuffled(rng: np.random.Generator, entries: tuple[str, ...]) -> list[str]:
    return [entries[index] for index in rng.permutation(len(entries))]


def _generic(city: City, entry: str) -> Order:
    kind = "stop" if entry == city.texts.generic[0] else "notice"
    return Order(kind, split_lines(entry))


def choose_orders(city: City, rng: np.random.Generator) -> tuple[list[Order], list[Order]]:
    """The signs of one scene (two to four lines together) and spare ones, in case too few find a place.

    About 74 % of the scenes name a street, a district or the city; 17 % show shops and general words only, and
    9 % general words only, so that all three tiers of the study occur.
    """
    depth = weighted(rng, ("named", "shops", "plain"), (0.74, 0.17, 0.09))
    names = {city.name, *city.aliases}
    plain_shops = tuple(s for s in city.texts.shops if not any(name in s for name in names))
    generic = _shuffled(rng, city.texts.generic)
    wanted: list[Order] = []
    if depth == "named":
        district, street = pick(rng, city.texts.districts), pick(rng, city.texts.streets)
        if not any(name in district for name in names):  # a gazetteer of cities knows few districts: draw once more
            district = pick(rng, city.texts.districts)
        if happens(rng, 0.92):
            wanted.append(Order("direction", split_lines(district)))
        if happens(rng, 0.78) or not wanted:
            wanted.append(Order("street", split_lines(street)))
        if happens(rng, 0.75):
            wanted.append(Order("shop", split_lines(pick(rng, city.texts.shops))))
        if happens(rng, 0.45) or len(wanted) < 2:
            wanted.append(_generic(city, generic[0]))
    elif depth == "shops":
        chosen = _shuffled(rng, plain_shops)
        wanted += [Order("shop", split_lines(entry)) for entry in chosen[: 2 if happens(rng, 0.6) else 1]]
        if happens(rng, 0.6) or len(wanted) < 2:
            wanted.append(_generic(city, generic[0]))
    else:
        wanted += [_generic(city, entry) for entry in generic[:2]]
    orders: list[Order] = []
    for order in wanted:
        if sum(len(o.texts) for o in orders) + len(order.texts) <= _MOST:
            orders.append(order)
    spare = [_generic(city, entry) for entry in generic[2:]]
    if depth != "plain":
        spare = [Order("shop", split_lines(plain_shops[0])), *spare]
    return orders, [order for order in spare if order not in orders]
