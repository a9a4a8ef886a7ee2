"""`signpost estimate PROFILE`: what a run will ask, take and cost, before the first paid request.

The command itself is registered in cli.py; here is what it does. Nothing is asked: pictures are built (the offline
stages up to the synthesis run if they have not), and then only counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from signpost_kit.errors import ConfigError

if TYPE_CHECKING:
    import pandas as pd

    from signpost_kit.models.catalogue import ModelSpec
    from signpost_kit.run import Run

__all__ = ["estimate_run", "show", "show_costs"]

Column = tuple[str, Callable[[Mapping[str, Any]], str]]


def estimate_run(run: Run) -> tuple[pd.DataFrame, dict[str, ModelSpec]]:
    """The estimate of a run, one row per model of its profile, and what is known of those models.

    It counts the coordinate question and every further task of the profile.

    Raises
    ------
    SignpostError
        A model is unknown, or the pictures cannot be made.
    """
    from signpost_kit.evaluation import ReplyStore, make_plan
    from signpost_kit.evaluation.cost import estimate
    from signpost_kit.models.base import Decoding
    from signpost_kit.models.catalogue import load_catalogue
    from signpost_kit.models.registry import get_model, model_names
    from signpost_kit.prompts import load
    from signpost_kit.stages.tasks import task_plans

    profile, options = run.profile, run.profile.evaluation
    known = set(model_names())
    for model in profile.models:
        if model not in known:
            get_model(model)  # raises, with close matches
    run.ensure("synthesis")
    plan = make_plan(
        run.benchmark(),
        profile.models,
        prompt=load(options.task),
        task=options.task,
        variants=options.variants,
        decoding=Decoding(options.temperature, options.max_tokens),
        samples=options.samples,
    )
    requests = [*plan, *chain.from_iterable(task_plans(run).values())]
    specs = {name: spec for name, spec in load_catalogue(run.root).items() if name in profile.models}
    asked = {"retry": run.retry, "concurrency": options.concurrency}
    if not run.store_path.is_file():
        return estimate(requests, specs, **asked), specs
    with ReplyStore(run.store_path, create=False) as store:
        return estimate(requests, specs, store, **asked), specs


def show(frame: pd.DataFrame, specs: Mapping[str, ModelSpec], *, max_cost_usd: float | None = None) -> str:
    """The estimate as text: a line per model, the sum, and what is to be filled in."""
    if max_cost_usd is not None and not max_cost_usd >= 0:
        raise ConfigError(f"--max-cost is {max_cost_usd}; it must be 0 or more US dollars")
    rows: list[dict[str, Any]] = frame.to_dict("records")  # pyright: ignore[reportAssignmentType]
    lines = _table([*rows, _sum(rows, specs)], _COLUMNS)
    unknown = [row["model"] for row in rows if math.isnan(row["price_usd"]) and row["requests"]]
    if unknown:
        lines.append(f"The sum leaves out {', '.join(unknown)}: no price is known.")
    lines += [f"{row['model']}: {row['note']}" for row in rows if row["note"]]
    lines += _dated(rows, specs)
    learned = [row["model"] for row in rows if row["basis"] != "rule"]
    if learned:
        lines.append(f"Tokens of {', '.join(learned)} are corrected by what their first replies took.")
    if max_cost_usd is not None:
        lines.append(_against_limit(rows, max_cost_usd))
    return "\n".join(lines)


def show_costs(costs: Iterable[Mapping[str, Any]]) -> str:
    """Estimate against actual, after a run; takes :attr:`signpost_kit.evaluation.EvaluationSummary.costs`."""
    columns: tuple[Column, ...] = (
        ("model", lambda row: row["model"]),
        ("asked", lambda row: f"{row['asked']:,}"),
        ("estimated", lambda row: _usd(row["estimated_usd"])),
        ("actual", lambda row: _usd(row["actual_usd"])),
        ("actual/est.", lambda row: "-" if math.isnan(row["ratio"]) else f"{row['ratio']:.2f}"),
    )
    return "\n".join(_table(list(costs), columns))


def _sum(rows: list[dict[str, Any]], specs: Mapping[str, ModelSpec]) -> dict[str, Any]:
    def total(name: str) -> float:
        return sum(row[name] for row in rows if not math.isnan(row[name]))

    pools: dict[str, float] = {}
    for row in rows:  # models of one pool share its slots; pools do not wait for each other
        pool = specs[row["model"]].pool if row["model"] in specs else row["model"]
        pools[pool] = pools.get(pool, 0.0) + (0.0 if math.isnan(row["seconds"]) else row["seconds"])
    names = (
        "requests",
        "text_tokens",
        "image_tokens",
        "output_tokens",
        "price_usd",
        "most_usd",
        "done",
        "paid_usd",
    )
    batch = [row["price_usd"] if math.isnan(row["batch_usd"]) else row["batch_usd"] for row in rows]
    return {
        "model": "sum",
        **{name: total(name) for name in names},
        "images": max((row["images"] for row in rows), default=0),
        "batch_usd": sum(usd for usd in batch if not math.isnan(usd)),
        "seconds": max(pools.values(), default=0.0),
    }


def _dated(rows: list[dict[str, Any]], specs: Mapping[str, ModelSpec]) -> list[str]:
    paid = [specs[row["model"]].price for row in rows if row["model"] in specs and row["price_usd"] > 0]
    dates = sorted(price.date for price in paid if price is not None)
    if not dates:
        return []
    span = dates[0] if dates[0] == dates[-1] else f"{dates[0]} to {dates[-1]}"
    return [f"Prices are those of {span} (params/models.yml names the sources): look whether they still hold."]


def _against_limit(rows: list[dict[str, Any]], limit: float) -> str:
    expected = sum(row["price_usd"] for row in rows if not math.isnan(row["price_usd"]))
    if expected <= limit:
        return f"The limit of ${limit:g} is enough for what is expected."
    return f"The limit of ${limit:g} will stop the run: {_usd(expected)} are expected."


_COLUMNS: tuple[Column, ...] = (
    ("model", lambda row: row["model"]),
    ("requests", lambda row: f"{row['requests']:,.0f}"),
    ("images", lambda row: f"{row['images']:,.0f}"),
    ("text tokens", lambda row: _count(row["text_tokens"])),
    ("image tokens", lambda row: _count(row["image_tokens"])),
    ("output", lambda row: _count(row["output_tokens"])),
    ("price", lambda row: _usd(row["price_usd"])),
    ("in batch", lambda row: _usd(row["batch_usd"])),
    ("at most", lambda row: _usd(row["most_usd"])),
    ("time", lambda row: _duration(row["seconds"])),
    ("done", lambda row: f"{row['done']:,.0f}"),
    ("paid", lambda row: _usd(row["paid_usd"])),
)


def _table(rows: Sequence[Mapping[str, Any]], columns: tuple[Column, ...]) -> list[str]:
    cells = [[title for title, _ in columns], *([tell(row) for _, tell in columns] for row in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(columns))]
    return [
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in cells
    ]


def _count(number: float) -> str:
    if math.isnan(number):
        return "?"
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if number >= limit:
            return f"{number / (1e3 if unit == 'k' else limit):.3g} {unit}"
    return f"{number:.0f}"


def _usd(usd: float) -> str:
    if math.isnan(usd):
        return "?"
    return f"${usd:,.2f}" if usd >= 0.1 or usd == 0 else f"${usd:.4f}"


def _duration(seconds: float) -> str:
    if math.isnan(seconds):  # an offline model: as fast as this machine
        return "-"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
