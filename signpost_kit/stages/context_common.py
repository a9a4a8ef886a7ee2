"""What the stages of the second study share: sites, names to look up, who is asked, and a release's files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from signpost_kit.errors import ConfigError
from signpost_kit.stages.common import load_groups

if TYPE_CHECKING:
    import pandas as pd

    from signpost_kit.benchmark.geocontext import Released
    from signpost_kit.evaluation import EvaluationSummary, Plan
    from signpost_kit.geocoding.base import Place
    from signpost_kit.hints.plan import HintSite
    from signpost_kit.models.base import Provider
    from signpost_kit.run import Run
    from signpost_kit.stages.common import Record

__all__ = ["RELEASE", "ask", "asked_models", "lookup_of", "released", "save_sites", "sites_of_run"]

RELEASE = "geocontext-release"


@lru_cache(maxsize=2)
def _read(path: Path, stamp: tuple) -> Released:
    from signpost_kit.benchmark.geocontext import read_released

    return read_released(path)


def released(run: Run) -> Released:
    """The release that the profile names; read once, and again when a file has changed."""
    path = Path(run.profile.source.path or "")
    files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else []
    return _read(path, tuple((p.name, p.stat().st_size, p.stat().st_mtime_ns) for p in files))


def sites_of_run(run: Run) -> list[HintSite]:
    """The sites of the run: the scenes that its first stage found, whatever later stages left out.

    Of a release: its sites that have pictures in source.images; none without that folder.
    """
    from signpost_kit.benchmark import Benchmark
    from signpost_kit.ladder import sites_of
    from signpost_kit.ladder.sites import released_sites

    source = run.profile.source
    if source.kind == RELEASE:
        return released_sites(released(run), Path(source.images)) if source.images else []
    return sites_of(Benchmark(run.name, load_groups(run, "sources"), run.dir / "benchmark"))


def save_sites(run: Run, sites: Sequence[HintSite]) -> None:
    """Keep the sites as the table `context_sites`."""
    import pandas as pd

    rows = [(s.site, s.city, s.country, s.continent, s.lat, s.lon, len(s.pictures)) for s in sites]
    columns = ["site", "city", "country", "continent", "lat", "lon", "n_pictures"]
    run.save_table("context_sites", pd.DataFrame(rows, columns=columns))


def asked_models(
    run: Run, sites: Sequence[HintSite], points: pd.DataFrame
) -> tuple[list[str], Sequence[str] | Mapping[str, Provider]]:
    """Names and models as `ask_plan` takes them: the simulated respondents if there are any, else the profile's."""
    habits = run.profile.context.respondents
    if not habits:
        return list(run.profile.models), list(run.profile.models)
    from signpost_kit.models.embedded.respondents import respondents

    made = respondents(habits, sites, points, seed=run.profile.context.ladder.seed)
    return list(made), made


def lookup_of(run: Run, sites: Sequence[HintSite], points: pd.DataFrame) -> Callable[[str], Sequence[Place]]:
    """What the answers' names are looked up in."""
    options = run.profile.context.hints
    kind = options.geocoder if options else "local"
    if kind == "local":
        from signpost_kit.hints.lookup import LocalLookup

        if run.profile.source.kind == RELEASE:
            raise ConfigError(
                "the released ladders have no positions to look names up in: set context.hints.geocoder to "
                "wikidata or nominatim (with targets.contact), or to gazetteer for cities alone"
            )
        return LocalLookup(sites, points)
    from signpost_kit.stages.context_lookup import finder_of

    return finder_of(run, kind).search


def ask(run: Run, record: Record, plan: Plan, models: Any) -> EvaluationSummary:
    """Put a plan's questions as the profile says, and note how it went."""
    from signpost_kit.evaluation import ask_plan

    options = run.profile.evaluation
    if not plan.requests:
        raise ConfigError("nothing to ask")
    with run.store() as store:
        summary = ask_plan(
            plan,
            models,
            store=store,
            retry=run.retry,
            timeout_s=options.timeout_s,
            concurrency=options.concurrency,
            max_cost_usd=options.max_cost_usd,
            batch=options.batch and not run.profile.context.respondents,
        )
    record.counts |= {
        "models": len({request.model for request in plan}),
        "requests": summary.asked + summary.reused,
        "asked": summary.asked,
        "reused": summary.reused,
        "ok": summary.ok,
    }
    record.counts |= {f"status_{name}": n for name, n in sorted(summary.failures.items())}
    for model, reason in summary.stopped.items():
        record.reject(model, reason)
    for missing in summary.missing:
        record.reject(missing.group_id, missing.reason)
    if summary.batched:
        record.reject("batches", f"{summary.batched} questions are with the providers: run again to collect them")
    return summary
