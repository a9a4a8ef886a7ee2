"""The report of a run: one page, runs/<name>/index.html, with everything the run drew, counted and left out.

Pictures are copied to the folder `report` beside the page, so that the two can be moved or zipped together.
All text is escaped, wherever it comes from, and the page forbids scripts to the browser as well. A part that is
missing is named with the reason; nothing missing ends the report.
"""

from __future__ import annotations

import contextlib
import html
import json
import shutil
import struct
from collections.abc import Callable, Iterable, Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

import pandas as pd

from signpost_kit.errors import DataError, SignpostError
from signpost_kit.files import safe_name, storage_error, write_bytes, write_text
from signpost_kit.frames import VARIANTS
from signpost_kit.report_context import context_facts, context_headline, context_sentences
from signpost_kit.report_findings import Finding, coverage_rows, failed_replies, findings, headline
from signpost_kit.report_outputs import Described, described, grouped
from signpost_kit.stages import ORDER

if TYPE_CHECKING:
    from signpost_kit.benchmark.groups import Benchmark, Group
    from signpost_kit.run import Run

__all__ = ["write_report"]

T = TypeVar("T")

_MAX_REJECTED, _MAX_SCENES, _THUMB = 300, 12, 420


def write_report(run: Run) -> Path:
    """Write index.html of a run and return its path. Parts that are missing are named in it.

    Raises
    ------
    StorageError
        The run's folder cannot be written.
    """
    page = _Page(run)
    text = _template().render(page.content())
    path = run.dir / "index.html"
    write_text(path, text)
    page.sweep()
    return path


def _template() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report_page.html")


def _try(make: Callable[[], T], other: T) -> tuple[T, str]:
    """What `make` gives and "", or `other` and why not."""
    try:
        return make(), ""
    except SignpostError as error:
        return other, str(error)


class _Page:
    """Gathers the parts of one report and copies the pictures it shows."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.folder = run.dir / "report"
        self.kept: set[Path] = set()
        self.manifest = _json(run.dir / "manifest.json")
        self.first = "signpost" in getattr(run.profile, "studies", ("signpost",))
        self.described = described(Path(run.root), getattr(run.profile, "studies", ("signpost",)))

    def content(self) -> dict[str, Any]:
        """Everything the template shows."""
        run = self.run
        radius = float(getattr(getattr(run.profile, "scoring", None), "tfr_radius_km", 50.0))
        macro, _ = _try(lambda: run.table("macro"), pd.DataFrame())
        scores, no_scores = _try(lambda: run.table("scores"), pd.DataFrame(columns=["model", "variant", "status"]))
        (found, no_findings) = _try(lambda: findings(macro, radius_km=radius), [])
        bench, no_bench = _try(run.benchmark, None)
        failed, n_failed = failed_replies(self._with_text(scores))
        scenes = self._scenes(bench)
        return {
            "title": run.profile.title or run.name,
            "name": run.name,
            "source": self._source(),
            "finished": str(self.manifest.get("finished", "")),
            "headline": self._headline(found, radius),
            "findings": found,
            "second": [*_try(lambda: context_sentences(run), [])[0]],
            "reading": "A failed reply is left out of scores and counted under Coverage.",
            "facts": [*(_facts(bench, scores) if self.first else ()), *_try(lambda: context_facts(run), [])[0]],
            "notes": list(dict.fromkeys(n for n in (no_scores, no_findings) if n and self.first)),
            "figures": grouped(self._figures()),
            "tables": grouped(self._tables()),
            "variants": VARIANTS,
            "coverage": coverage_rows(scores) if len(scores) else [],
            "coverage_missing": no_scores or "No question was asked.",
            "scenes": scenes,
            "scenes_shown": f"{len(scenes)} of {len(bench.groups)} scenes are shown." if bench else "",
            "scenes_missing": no_bench or "The benchmark has no scene.",
            "stages": [*self._stages()],
            "failed_notebooks": self.manifest.get("failures") or [],
            "failed_replies": failed,
            "n_failed": n_failed,
            "manifest": self._made(),
            "profile": _text(run.dir / "profile.yml"),
        }

    def _headline(self, found: list[Finding], radius: float) -> str:
        """The first study's result where it was run, else the second's."""
        second, _ = _try(lambda: context_headline(self.run), "")
        if self.first or not second:
            return headline(found, radius_km=radius)
        return second

    def sweep(self) -> None:
        """Remove from report/ what an earlier report left and this one does not show."""
        for path in self.folder.glob("*/*"):
            if path.is_file() and path not in self.kept:
                path.unlink(missing_ok=True)

    # -- parts ------------------------------------------------------------------------------------------------

    def _source(self) -> str:
        source = getattr(self.run.profile, "source", None)
        kind = str(getattr(source, "kind", ""))
        words = {
            "town": "on the built-in teaching set",
            "photos": "on a folder of photos",
            "list": "on a list of photos",
            "panoramas": "on a folder of panoramas",
            "signpost-release": "on the released SIGNPOST-Bench",
            "geocontext-release": "on the released GeoContext files",
        }
        return words.get(kind, kind)

    def _with_text(self, scores: pd.DataFrame) -> pd.DataFrame:
        """The scores with the reason and the raw text of each reply, where the store is at hand and needed."""
        path = getattr(self.run, "store_path", None)
        if scores.empty or not (scores["status"].astype(str) != "ok").any() or path is None or not path.is_file():
            return scores

        def read() -> pd.DataFrame:
            with self.run.store() as store:
                return store.predictions(self.run.profile.evaluation.task, extra=("reason", "text"))

        replies, _ = _try(read, scores)
        keys = ["model", "group_id", "variant"]
        if "text" not in replies.columns:
            return scores
        return (
            scores.drop(columns=["reason", "text"], errors="ignore")
            .astype(dict.fromkeys(keys, str))
            .merge(
                replies.astype(dict.fromkeys(keys, str))[[*keys, "reason", "text"]].drop_duplicates(keys),
                on=keys,
                how="left",
            )
        )

    def _outputs(self, kind: str, found: Iterable[str]) -> list[Described]:
        """What the notebooks of this run can make, and files that none of them knows."""
        known = [item for item in self.described if item.kind == kind]
        names = {item.id for item in known}
        others = [name for name in found if name not in names]
        out: list[Described] = []
        for item in known:  # a notebook may write a second part beside its own: tab04 and tab04_ranks
            parts = [name for name in others if name.startswith(f"{item.id}_")]
            out += [item, *(Described(name, kind, item.title, "", item.study) for name in parts)]
            others = [name for name in others if name not in parts]
        return [*out, *(Described(name, kind, name, "", "signpost") for name in others)]

    def _figures(self) -> Iterable[dict[str, Any]]:
        found = {p.stem: p for p in sorted(self.run.figures_dir.glob("*.png"))}
        for made in self._outputs("figure", found):
            item: dict[str, Any] = {
                "title": made.title,
                "text": made.text,
                "study": made.study,
                "src": "",
                "pdf": "",
            }
            item["missing"] = self._why(made.id)
            if made.id in found:
                png = found[made.id]
                item["src"] = self._copy(png, "figures")
                item["width"], item["height"] = _shown_size(png)
                if png.with_suffix(".pdf").is_file():
                    item["pdf"] = self._copy(png.with_suffix(".pdf"), "figures")
            yield item

    def _tables(self) -> Iterable[dict[str, Any]]:
        from markupsafe import Markup

        found = {p.stem: p for p in sorted(self.run.tables_dir.glob("*.html"))}
        for made in self._outputs("table", found):
            item: dict[str, Any] = {"title": made.title, "study": made.study, "html": "", "links": []}
            item["missing"] = self._why(made.id)
            if made.id in found:
                item["html"] = Markup(_harmless(_text(found[made.id])))
                files = [found[made.id].with_suffix(f".{ending}") for ending in ("csv", "tex")]
                item["links"] = [{"name": f.name, "href": self._copy(f, "tables")} for f in files if f.is_file()]
            yield item

    def _notebook(self, name: str) -> Mapping[str, Any]:
        return next((n for n in self.manifest.get("notebooks") or [] if n.get("id") == name), {})

    def _why(self, name: str) -> str:
        """Why a figure or table is not there."""
        entry = self._notebook(name)
        if entry.get("status") in ("failed", "skipped", "interrupted"):
            reason = str(entry.get("message") or entry.get("cause") or "").strip()
            verb = "failed" if entry["status"] == "failed" else f"was {entry['status']}"
            return f"The notebook {name} {verb}" + (f": {reason}" if reason else ".")
        return f"The notebook {name} has not run in this run."

    def _scenes(self, bench: Benchmark | None) -> list[dict[str, Any]]:
        if bench is None:
            return []
        chosen = sorted(bench.groups, key=lambda g: -len(g.images))[:_MAX_SCENES]
        return [
            {"label": _label(group), "parts": [self._part(bench, group, v) for v in VARIANTS]} for group in chosen
        ]

    def _part(self, bench: Benchmark, group: Group, variant: str) -> dict[str, Any]:
        from signpost_kit.figures.story import sign_text

        part: dict[str, Any] = {
            "variant": variant,
            "text": sign_text(group, variant),
            "src": "",
            "missing": "not made",
        }
        if variant not in group.images:
            return part

        def thumb() -> str:
            from signpost_kit.images import encode_jpeg, load_rgb

            pixels = load_rgb(bench.image_path(group, variant), max_side=_THUMB)
            path = self.folder / "scenes" / f"{safe_name(group.group_id)}-{variant}.jpg"
            write_bytes(path, encode_jpeg(pixels, quality=82))
            self.kept.add(path)
            return _href(path, self.run.dir)

        part["src"], missing = _try(thumb, "")
        part["missing"] = missing or part["missing"]
        return part

    def _stages(self) -> Iterable[dict[str, Any]]:
        folder = self.run.dir / "stages"
        rank = {name: i for i, name in enumerate(ORDER)}
        for path in sorted(folder.glob("*.json"), key=lambda p: (rank.get(p.stem, 99), p.stem)):
            entry = _json(path)
            rejected = [r for r in entry.get("rejected") or [] if isinstance(r, Mapping)]
            rows = [{"item": str(r.get("item", "")), "reason": str(r.get("reason", ""))} for r in rejected]
            yield {
                "name": str(entry.get("stage", path.stem)),
                "counts": entry.get("counts") or {},
                "seconds": entry.get("seconds"),
                "rejected": rows[:_MAX_REJECTED],
                "n_rejected": len(rows),
                "open": len(rows) <= 25,
                "file": f"stages/{path.name}",
            }

    def _made(self) -> dict[str, Any]:
        """What the template shows of the manifest; {} without one."""
        if not self.manifest:
            return {}
        git = self.manifest.get("git") or {}
        keys = ("python", "platform", "seconds")
        notebooks = [
            {k: n.get(k, "") for k in ("id", "title", "status", "seconds")}
            for n in self.manifest.get("notebooks") or []
        ]
        return {k: self.manifest.get(k, "?") for k in keys} | {
            "commit": str(git.get("commit", "")),
            "dirty": bool(git.get("dirty")),
            "packages": self.manifest.get("packages") or {},
            "notebooks": notebooks,
        }

    def _copy(self, source: Path, folder: str) -> str:
        """Copy a file into report/<folder>/ and return its address from the page."""
        target = self.folder / folder / source.name
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
        except OSError as error:
            raise storage_error(error, target) from error
        self.kept.add(target)
        return _href(target, self.run.dir)


def _href(path: Path, base: Path) -> str:
    return quote(path.relative_to(base).as_posix())


def _label(group: Group) -> str:
    place = ", ".join(part for part in (group.city, group.country) if part)
    where = f"{group.lat:.3f}, {group.lon:.3f}"
    trap = (
        f"; the conflicting sign names a place at {group.trap.lat:.2f}, {group.trap.lon:.2f}" if group.trap else ""
    )
    if group.trap and group.trap.name:
        trap = f"; the conflicting sign names {group.trap.name}"
    return f"{group.group_id}: {place + ' (' + where + ')' if place else where}{trap}"


def _facts(bench: Benchmark | None, scores: pd.DataFrame) -> list[dict[str, str]]:
    facts = []
    if bench is not None:
        facts.append({"value": str(len(bench.groups)), "label": "scenes"})
        facts.append({"value": str(sum(g.trap is not None for g in bench.groups)), "label": "with a target"})
    if len(scores):
        ok = int((scores["status"].astype(str) == "ok").sum())
        facts.append({"value": str(scores["model"].nunique()), "label": "models"})
        facts.append({"value": f"{len(scores):,}", "label": "questions asked"})
        facts.append({"value": f"{100 * ok / len(scores):.1f} %", "label": "answered"})
    return facts


def _json(path: Path) -> dict[str, Any]:
    """A JSON object from a file; {} when it is missing or damaged."""
    with contextlib.suppress(OSError, ValueError):
        data = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(data, dict):
            return data
    return {}


def _text(path: Path) -> str:
    with contextlib.suppress(OSError):
        return path.read_text(encoding="utf-8", errors="replace")
    return ""


def _shown_size(png: Path) -> tuple[int, int]:
    """Width and height in CSS pixels: half the picture's (figures have 300 dpi), at most 1030 wide."""
    head = png.read_bytes()[:24]
    if len(head) < 24 or head[:4] != b"\x89PNG":
        raise DataError(f"{png} is no PNG: delete it and run its notebook again")
    width, height = struct.unpack(">II", head[16:24])
    scale = min(0.5, 1030 / max(width, 1))
    return round(width * scale), round(height * scale)


class _TableOnly(HTMLParser):
    """Rewrites HTML so that only a table's own tags and attributes are left."""

    TAGS = frozenset(
        (
            "table",
            "caption",
            "colgroup",
            "col",
            "thead",
            "tbody",
            "tfoot",
            "tr",
            "th",
            "td",
            "small",
            "em",
            "b",
            "br",
        )
    )
    ATTRIBUTES = frozenset(("class", "id", "colspan", "rowspan", "scope"))

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.out: list[str] = []
        self.dropped = 0
        self.style: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "style":
            self.style = []
        elif tag in ("script", "iframe", "object"):
            self.dropped += 1
        elif tag in self.TAGS:
            kept = "".join(f' {k}="{html.escape(v or "")}"' for k, v in attrs if k in self.ATTRIBUTES)
            self.out.append(f"<{tag}{kept}>")

    def handle_endtag(self, tag: str) -> None:
        if tag == "style" and self.style is not None:
            rules = "".join(self.style)
            if not any(bad in rules.lower() for bad in ("url(", "@", "expression", "<", "\\")):
                self.out.append(f"<style>{rules}</style>")
            self.style = None
        elif tag in ("script", "iframe", "object"):
            self.dropped = max(0, self.dropped - 1)
        elif tag in self.TAGS and tag not in ("col", "br"):
            self.out.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        if self.style is not None:
            self.style.append(data)
        elif not self.dropped:
            self.out.append(html.escape(data, quote=False))


def _harmless(source: str) -> str:
    """The table in an HTML file, without anything that could run or load something."""
    parser = _TableOnly()
    parser.feed(source)
    parser.close()
    return "".join(parser.out)
