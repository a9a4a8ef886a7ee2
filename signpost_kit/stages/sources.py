"""The first stage: where the pictures come from."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from signpost_kit.stages.common import publish, recording, save_groups

if TYPE_CHECKING:
    import pandas as pd

    from signpost_kit.benchmark import Group
    from signpost_kit.benchmark.lists import ListReport, Sample
    from signpost_kit.benchmark.photos import Rejected
    from signpost_kit.run import Run
    from signpost_kit.stages.common import Record

__all__ = ["checks", "sources", "strata"]

_CHECKS = ["check", "verdict", "found", "remedy"]
_STRATA = ["stratum", "rows", "drawn"]
_LISTED = 2000  # rejected pictures in the record; every row of a list is in sources.rejected.csv


def sources(run: Run) -> None:
    """Bring Original pictures with known positions into the run; the others are recorded with the reason."""
    with recording(run, "sources") as record:
        groups = _READERS[run.profile.source.kind](run, record)
        record.counts["groups"] = len(groups)
        record.counts.setdefault("rejected", len(record.rejected))
        record.counts["datasets"] = len({group.dataset for group in groups})
        save_groups(run, "sources", groups)
        publish(run, groups)


def checks(run: Run) -> pd.DataFrame:
    """What was asked of the source as a whole: check, verdict, found, remedy; empty for the teaching set."""
    return _table(run, "source_checks", _CHECKS)


def strata(run: Run) -> pd.DataFrame:
    """The sample: stratum, usable rows, rows drawn; empty when nothing was sampled."""
    return _table(run, "source_strata", _STRATA)


def _town(run: Run, record: Record) -> tuple[Group, ...]:
    from signpost_kit.benchmark import town

    source = run.profile.source
    return town.build(source.n, source.seed, out_dir=run.dir / "benchmark").groups


def _photos(run: Run, record: Record) -> tuple[Group, ...]:
    from signpost_kit.benchmark import photos

    source = run.profile.source
    imported = photos.import_photos(
        Path(source.path or ""), run.dir / "benchmark", positions=source.positions, limit=source.limit
    )
    _list_rejected(record, imported.rejected)
    return imported.benchmark.groups


def _list(run: Run, record: Record) -> tuple[Group, ...]:
    from signpost_kit.benchmark.downloads import DownloadLimits
    from signpost_kit.benchmark.lists.importing import import_list

    source, compute = run.profile.source, run.profile.compute
    imported = import_list(
        source.path or "",
        run.dir / "benchmark",
        name=run.name,
        images=source.images,
        downloads=source.downloads,
        download_dir=run.dir / "downloads",
        limits=DownloadLimits(file_bytes=int(source.max_file_mb * 1e6), total_bytes=int(source.max_total_mb * 1e6)),
        format=source.format,
        exchanged=source.exchanged,
        sample=_sample(run),
        limit=source.limit,
        rejects=_rejects(run),
        journal=_journal(run),
        scheduler=compute.scheduler,
        workers=compute.workers,
    )
    if source.downloads is not None:
        record.counts["downloaded"] = imported.downloaded
    _report(run, record, imported.report)
    _list_rejected(record, imported.rejected)
    return imported.benchmark.groups


def _panoramas(run: Run, record: Record) -> tuple[Group, ...]:
    from signpost_kit.benchmark.panoramas import ViewRules, import_panoramas
    from signpost_kit.ocr.checks import settings_for, workers_for

    source, screening, compute = run.profile.source, run.profile.screening, run.profile.compute
    imported = import_panoramas(
        source.path or "",
        run.dir / "benchmark",
        name=run.name,
        positions=source.positions,
        limit=source.limit,
        sample=_sample(run),
        rules=ViewRules(
            engine=screening.engine,
            settings=settings_for(screening, compute),
            min_confidence=screening.min_confidence,
            min_chars=screening.min_chars,
        ),
        format=source.format,
        exchanged=source.exchanged,
        rejects=_rejects(run),
        journal=_journal(run),
        scheduler=compute.scheduler,
        workers=workers_for(screening, compute),
    )
    if imported.report is not None:
        _report(run, record, imported.report)
    _list_rejected(record, imported.rejected)
    return imported.benchmark.groups


def _release(run: Run, record: Record) -> tuple[Group, ...]:
    from signpost_kit.stages.released import released_sources

    return released_sources(run, record)


def _geocontext(run: Run, record: Record) -> tuple[Group, ...]:
    """The second study's release has sites and answers, no scenes: its own stages read it."""
    record.counts["scenes"] = "none: the stages ladder, hints and claims read this release"
    return ()


_READERS: dict[str, Callable[[Run, Record], tuple[Group, ...]]] = {
    "town": _town,
    "photos": _photos,
    "list": _list,
    "panoramas": _panoramas,
    "signpost-release": _release,
    "geocontext-release": _geocontext,
}


def _sample(run: Run) -> Sample | None:
    from signpost_kit.benchmark.lists import Sample

    source = run.profile.source
    if source.sample_by is None:
        return None
    return Sample(source.sample_by, source.share, source.at_least, source.sample_seed)


def _rejects(run: Run) -> Path:
    return run.dir / "stages" / "sources.rejected.csv"


def _journal(run: Run) -> Path:
    return run.dir / "stages" / "sources.sqlite"


def _report(run: Run, record: Record, report: ListReport) -> None:
    """Tables for the notebook, and numbers and examples for the record: a list may have a million rows."""
    run.save_table("source_checks", report.frame())
    run.save_table("source_strata", report.strata_frame())
    record.counts |= {"rows": report.rows, "usable_rows": report.usable, "chosen_rows": report.chosen}
    record.counts["rejected"] = sum(report.reasons.values())
    for row in report.examples:
        record.reject(f"line {row.line}: {row.id}", row.reason)
    left = sum(report.reasons.values()) - len(report.examples)
    if left:
        record.reject(report.layout.path.name, f"{left:,} more rows, all in {_rejects(run).name}")


def _list_rejected(record: Record, rejected: Iterable[Rejected]) -> None:
    items = list(rejected)
    for item in items[:_LISTED]:
        record.reject(item.item, item.reason)
    if len(items) > _LISTED:
        record.reject("", f"{len(items) - _LISTED:,} more pictures")
    record.counts["rejected"] = int(record.counts.get("rejected", 0)) + len(items)


def _table(run: Run, name: str, columns: list[str]) -> pd.DataFrame:
    import pandas as pd

    record = run.stage_record("sources") or {"counts": {}}
    if "rows" not in record["counts"]:  # no list was read; a table would be an earlier source's
        return pd.DataFrame(columns=pd.Index(columns))
    return run.table(name).astype(object).fillna("")
