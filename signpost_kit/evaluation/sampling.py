"""Which scenes a further task is asked about: drawn from each dataset by lot, before anything is asked.

Every scene has a lot of its own, a hash of the seed and its id, and the lowest lots are drawn. So a draw depends
neither on the order of the scenes nor on what else is in the benchmark or has been answered:

- every model is asked about the same scenes, and a reply that fails is never made up for by another scene;
- tasks with the same seed share their scenes (the smaller draw is part of the larger one), so that they can be
  compared pair by pair;
- a larger `per_dataset` keeps the scenes that were drawn and adds some: no reply is paid for twice;
- in a larger benchmark a scene that was drawn can only be displaced by a new one; what is kept from the old draw
  is exactly what is still among the lowest lots, and no scene that lost before is drawn now.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from signpost_kit.errors import ConfigError
from signpost_kit.files import hash_bytes

if TYPE_CHECKING:
    from signpost_kit.benchmark import Group

__all__ = ["draw_groups", "lot"]


def lot(group_id: str, seed: int) -> str:
    """The lot of one scene: 32 hex digits, as good as random, the same on every machine."""
    return hash_bytes(f"{seed}\n{group_id}".encode())


def draw_groups(
    groups: Iterable[Group],
    *,
    per_dataset: int | None,
    seed: int,
    variants: Sequence[str] | None = None,
) -> tuple[str, ...]:
    """Ids of the scenes that are drawn, in the order of `groups`.

    Parameters
    ----------
    groups
        Of one benchmark; ids are unique there.
    per_dataset
        At most so many from each dataset (a smaller one is taken whole); None: all.
    seed
        Of the draw.
    variants
        Only scenes that have at least one of these pictures take part; None: all scenes do.

    Raises
    ------
    ConfigError
        `per_dataset` is below 1.

    Examples
    --------
    >>> from signpost_kit.benchmark import Group
    >>> scenes = [Group(str(i), "streets", 0.0, 0.0) for i in range(100)]
    >>> drawn = draw_groups(scenes, per_dataset=5, seed=42)
    >>> len(drawn), set(drawn) == set(draw_groups(scenes[::-1], per_dataset=5, seed=42))
    (5, True)
    """
    if per_dataset is not None and per_dataset < 1:
        raise ConfigError(f"per_dataset is {per_dataset}; it must be at least 1, or None for all scenes")
    wanted = None if variants is None else set(variants)
    present = [group for group in groups if wanted is None or wanted & group.images.keys()]
    if per_dataset is None:
        return tuple(group.group_id for group in present)
    by_dataset: dict[str, list[str]] = {}
    for group in present:
        by_dataset.setdefault(group.dataset, []).append(group.group_id)
    drawn: set[str] = set()
    for ids in by_dataset.values():
        drawn.update(sorted(ids, key=lambda one: lot(one, seed))[:per_dataset])
    return tuple(group.group_id for group in present if group.group_id in drawn)
