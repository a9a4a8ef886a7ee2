"""The stage that writes what replaces each text."""

from __future__ import annotations

import functools
import itertools
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from signpost_kit.benchmark import Benchmark, Group
from signpost_kit.errors import DataError
from signpost_kit.files import atomic_path
from signpost_kit.stages.common import (
    Record,
    count_groups,
    iter_groups,
    load_groups,
    publish_stage,
    recording,
    save_groups,
)

if TYPE_CHECKING:
    from signpost_kit.geocoding import Place
    from signpost_kit.ocr import TextLine
    from signpost_kit.run import Run

__all__ = ["STORE", "replacements"]

STORE = "replacements.sqlite"
"""Of the run's folder: what a model wrote, apart from the replies that are scored."""
_CHUNK = 500  # groups whose texts become rows at once


def replacements(run: Run) -> None:
    """Write a similar, a random and an adversarial text for every span; what breaks a rule is left out.

    Killed, it goes on: a model's replies are kept one by one, and the gazetteer's texts take milliseconds.
    """
    from signpost_kit.stages.released import passed_on

    options = run.profile.replacements
    if run.profile.source.kind == "signpost-release":
        _save_texts(run, iter_groups(run, "taxonomy"), "released", {})
        passed_on(run, "replacements")
        return
    with recording(run, "replacements") as record:
        places: Mapping[str, Sequence[Place | None]] = {}
        if options.kind == "generate":
            groups, places = _by_model(run, record)
        else:
            groups = _by_gazetteer(run, record)
        n = save_groups(run, "replacements", _at_least_one(groups, record))
        record.counts |= {"groups": n, "rejected": len(record.rejected)}
        writer = str(options.model) if options.kind == "generate" else "gazetteer"
        if warning := _save_texts(run, iter_groups(run, "replacements"), writer, places):
            record.counts["warning"] = warning
            warnings.warn(warning, stacklevel=2)
        publish_stage(run, "replacements")


def _by_gazetteer(run: Run, record: Record) -> Iterator[Group]:
    from signpost_kit.mapping import map_items
    from signpost_kit.replacements.gazetteer import propose_valid

    compute = run.profile.compute
    outcomes = map_items(
        functools.partial(propose_valid, seed=run.profile.replacements.seed),
        iter_groups(run, "taxonomy"),
        scheduler=compute.scheduler,
        workers=compute.workers,
        describe="replacements",
        total=count_groups(run, "taxonomy"),
    )
    for outcome in outcomes:
        if outcome.error:
            record.reject(outcome.item.source_id or outcome.item.group_id, outcome.error)
        else:
            yield outcome.value


def _by_model(run: Run, record: Record) -> tuple[list[Group], dict[str, Sequence[Place | None]]]:
    from signpost_kit.evaluation import ReplyStore
    from signpost_kit.models.base import Decoding
    from signpost_kit.replacements.checks import check_replacements
    from signpost_kit.replacements.generate import generate

    options = run.profile.replacements
    check_replacements(options)
    groups = load_groups(run, "taxonomy")
    with ReplyStore(run.dir / STORE) as store:
        made = generate(
            Benchmark(name=run.name, groups=groups, root=run.dir / "benchmark"),
            str(options.model),
            store=store,
            spans=options.spans,
            lines=functools.partial(_read, run),
            polygons=run.profile.editing.editor == "paint",
            varied=options.varied,
            seed=options.seed,
            decoding=Decoding(options.temperature, options.max_tokens),
            retry=run.retry,
            timeout_s=options.timeout_s,
            concurrency=options.concurrency,
            max_cost_usd=options.max_cost_usd,
        )
    names = {group.group_id: group.source_id or group.group_id for group in groups}
    for one in made.rejected:
        record.reject(names[one.group_id], one.reason)
    record.counts |= {"model": made.model, **made.counts}
    run.save_table("writing", made.to_frame())
    return made.groups, {one.group_id: one.places for one in made.written}


def _read(run: Run, group: Group) -> Sequence[TextLine]:
    """What OCR reads in a picture; the screening has read it already, so this comes from the cache."""
    from signpost_kit.ocr import read_text
    from signpost_kit.ocr.checks import settings_for

    options = run.profile.screening
    path = run.dir / "benchmark" / group.images["Original"]
    return read_text(path, engine=options.engine, settings=settings_for(options, run.profile.compute))


def _at_least_one(groups: Iterable[Group], record: Record) -> Iterator[Group]:
    """The groups; DataError when there is none, with the first reason why."""
    none = True
    for group in groups:
        none = False
        yield group
    if none:
        why = record.rejected[0]["reason"] if record.rejected else "there is none"
        raise DataError(f"no group got valid replacements: {why}")


def _save_texts(
    run: Run, groups: Iterator[Group], writer: str, places: Mapping[str, Sequence[Place | None]]
) -> str:
    """Write tables/replacements.csv and tables/diversity.csv, some groups at a time; return a warning, or ""."""
    import pandas as pd

    from signpost_kit.replacements.diversity import repeat_warning, replacement_texts, target_table

    deciding = [replacement_texts([])]
    path = run.dir / "tables" / "replacements.csv"
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        deciding[0].to_csv(file, index=False)
        while chunk := list(itertools.islice(groups, _CHUNK)):
            texts = replacement_texts(chunk, writer=writer, places=places)
            texts.to_csv(file, index=False, header=False)
            deciding.append(pd.DataFrame(texts[(texts["kind"] == "adversarial") & texts["representative"]]))
    chosen = pd.concat(deciding[1:]) if len(deciding) > 1 else deciding[0]
    run.save_table("diversity", target_table(chosen))
    return repeat_warning(chosen)
