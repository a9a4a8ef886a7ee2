"""What to ask: every model about the same pictures, in an order that completes one scene after another."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from signpost_kit.errors import ConfigError, DataError
from signpost_kit.files import hash_file
from signpost_kit.models.base import Decoding, Request

if TYPE_CHECKING:
    from signpost_kit.benchmark import Benchmark, Group

__all__ = ["MissingPicture", "Plan", "PromptText", "make_plan"]


class PromptText(Protocol):
    """What a plan needs of a prompt; :class:`signpost_kit.prompts.Prompt` is one."""

    @property
    def text(self) -> str:
        """As sent."""
        ...

    @property
    def hash(self) -> str:
        """Of the text."""
        ...


@dataclass(frozen=True)
class MissingPicture:
    """A picture that cannot be asked about, and why. It is missing for every model alike."""

    group_id: str
    variant: str
    reason: str


@dataclass(frozen=True)
class Plan:
    """Requests in the order they are asked, and the pictures that are not there."""

    requests: tuple[Request, ...]
    missing: tuple[MissingPicture, ...] = ()

    def __len__(self) -> int:
        return len(self.requests)

    def __iter__(self) -> Iterator[Request]:
        return iter(self.requests)


def make_plan(
    benchmark: Benchmark,
    models: Sequence[str],
    *,
    prompt: PromptText,
    task: str = "coordinate",
    variants: Sequence[str] | None = None,
    decoding: Decoding | None = None,
    samples: int = 1,
    groups: Collection[str] | None = None,
) -> Plan:
    """All requests of an evaluation. Each picture is hashed once; nothing else is read.

    Parameters
    ----------
    models
        Registered names; each is asked about exactly the same pictures.
    variants
        None: all five. Pictures that a group lacks, or whose file is gone or unreadable, are listed in `missing`.
    samples
        How often each question is asked (sample_index 0 .. samples - 1).
    groups
        Only these group ids; None: all.

    Raises
    ------
    ConfigError
        A variant or group is unknown, a model is named twice, no model or variant is named, or samples < 1.
    DataError
        The benchmark has no group, or not one picture is there.
    """
    from signpost_kit.frames import VARIANTS

    wanted = tuple(VARIANTS if variants is None else variants)
    _check(models, wanted, VARIANTS, samples)
    chosen = _chosen(benchmark, groups)
    decoding = decoding or Decoding()
    requests: list[Request] = []
    missing: list[MissingPicture] = []
    hashes: dict[Path, str] = {}
    for group in chosen:
        for variant in wanted:
            found = _picture(benchmark, group, variant, hashes)
            if isinstance(found, MissingPicture):
                missing.append(found)
                continue
            path, image_hash = found
            requests.extend(
                Request(
                    task=task,
                    model=model,
                    image_path=path,
                    image_hash=image_hash,
                    prompt=prompt.text,
                    prompt_hash=prompt.hash,
                    decoding=decoding,
                    sample_index=sample,
                    dataset=group.dataset,
                    group_id=group.group_id,
                    variant=variant,
                )
                for model in models
                for sample in range(samples)
            )
    if not requests:
        detail = f"{missing[0].group_id}: {missing[0].reason}" if missing else "it has no group"
        raise DataError(f"benchmark {benchmark.name!r} in {benchmark.root} has no picture to ask about ({detail})")
    return Plan(tuple(requests), tuple(missing))


def _check(models: Sequence[str], wanted: Sequence[str], known: Sequence[str], samples: int) -> None:
    if isinstance(models, str) or not models:
        raise ConfigError(f"models must be a list of at least one name, got {models!r}")
    for kind, names in (("model", models), ("variant", wanted)):
        twice = sorted({name for name in names if list(names).count(name) > 1})
        if twice:
            raise ConfigError(f"the {kind} {twice[0]!r} is named twice; name each once")
    unknown = [variant for variant in wanted if variant not in known]
    if unknown or not wanted:
        what = f"unknown variant {unknown[0]!r}" if unknown else "no variant named"
        raise ConfigError(f"{what}; allowed: {', '.join(known)}")
    if samples < 1:
        raise ConfigError(f"samples is {samples}; it must be at least 1")


def _chosen(benchmark: Benchmark, groups: Collection[str] | None) -> tuple[Group, ...]:
    if groups is None:
        return benchmark.groups
    names = set(groups)
    unknown = names - {group.group_id for group in benchmark.groups}
    if unknown:
        raise ConfigError(f"benchmark {benchmark.name!r} has no group {min(unknown)!r}")
    return tuple(group for group in benchmark.groups if group.group_id in names)


def _picture(
    benchmark: Benchmark, group: Group, variant: str, hashes: dict[Path, str]
) -> tuple[Path, str] | MissingPicture:
    if variant not in group.images:
        return MissingPicture(group.group_id, variant, f"no {variant} picture was made")
    try:
        path = benchmark.image_path(group, variant)
        if path not in hashes:
            hashes[path] = hash_file(path)
    except FileNotFoundError:
        return MissingPicture(group.group_id, variant, f"the file {group.images[variant]} is gone")
    except OSError as error:
        return MissingPicture(group.group_id, variant, f"{group.images[variant]}: {error.strerror or error}")
    except DataError as error:
        return MissingPicture(group.group_id, variant, str(error))
    return path, hashes[path]
