"""What each stage depends on, as hashes: parts of the profile, files in params/, photos, code, the stage before.

The hash of a stage covers everything upstream, so equal hashes mean that doing it again would change nothing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from signpost_kit.files import hash_bytes
from signpost_kit.profiles import Profile

__all__ = ["code_hash", "hash_mapping", "source_fingerprint", "stage_hashes"]

# Keys of the profile that each stage depends on, minus those that change only how fast or how patiently it asks.
_SECTIONS: dict[str, dict[str, Any]] = {
    "sources": {"source": True},
    "screening": {"screening": {"engine", "languages", "min_confidence", "min_chars", "max_spans"}},
    "taxonomy": {},
    "replacements": {
        "replacements": {"kind", "model", "seed", "spans", "varied", "temperature", "max_tokens"},
    },
    "targets": {"targets": {"geocoder", "url", "language", "limit"}},
    "synthesis": {
        "editing": {"editor", "seed", "attempts", "checks", "steps", "cfg", "lightning", "checkpoints"},
    },
    "evaluation": {
        "models": True,
        "evaluation": {"task", "variants", "samples", "temperature", "max_tokens", "stored_only"},
    },
    "scoring": {"scoring": True},
    "probing": {"models": True, "tasks": {"probing"}, "evaluation": {"temperature", "max_tokens"}},
    "defense": {"models": True, "tasks": {"defense"}, "evaluation": {"temperature", "max_tokens"}},
    "cross_task": {
        "models": True,
        "tasks": {"consistency", "country", "language"},
        "evaluation": {"temperature", "max_tokens"},
    },
    "analysis": {"scoring": True},
    "ladder": {
        "models": True,  # none of them may be the auditor
        "context": {
            "ladder": {"points", "auditor", "image_auditor", "draws", "seed", "url", "language", "radius_km"}
            | {"per_band", "batch_size", "contentious"}
        },
    },
    "hints": {
        "models": True,
        "context": {"hints": {"schemas", "baseline_samples", "geocoder"}, "respondents": True},
        "evaluation": {"temperature", "max_tokens"},
        "targets": {"url", "language", "limit"},
    },
    "claims": {
        "models": True,
        "context": {"claims", "respondents"},
        "evaluation": {"temperature", "max_tokens"},
    },
    "context_scoring": {"scoring": True},
}
_ASKING = ("evaluation", "probing", "defense", "cross_task", "hints", "claims")
_PARAMS: dict[str, tuple[str, ...]] = {
    "screening": ("taxonomy.yml",),
    "taxonomy": ("taxonomy.yml",),
    "replacements": ("prompts/replacements*.md",),
    "ladder": ("models.yml", "prompts/audit_*.md"),
    "synthesis": ("prompts/removal.md", "prompts/replacement.md"),
    **dict.fromkeys(_ASKING, ("models.yml", "prompts/**/*")),
}
# Pictures that models were asked about are never made anew because the package changed under a run: other bytes
# would be other questions, to be paid again. `--force` remakes them on purpose.
_KEPT_ACROSS_VERSIONS = frozenset(_SECTIONS) - {"scoring", "analysis", "context_scoring"}
_FACES = ("audit", "cli", "cli_", "doctor", "figures", "manifest", "notebook", "preflight", "report", "tables")


def stage_hashes(
    profile: Profile, root: Path, stages: Sequence[str], needs: Mapping[str, Sequence[str]]
) -> dict[str, str]:
    """Hash of the inputs of every stage named, which come in order; each covers the ones it needs.

    A stage that this module does not know depends on the whole profile and the package's code, scoring on the code;
    one that `needs` does not know needs all that stand before it.
    """
    out: dict[str, str] = {}
    for stage in stages:
        if stage in out:
            continue
        include = _SECTIONS.get(stage)
        part = profile.model_dump(include=include) if include is not None else profile.model_dump()
        if stage == "sources" or include is None:
            part["source"] = source_fingerprint(profile)
        if stage == "sources" and profile.source.kind == "panoramas":
            part |= profile.model_dump(include={"screening": True})  # OCR chooses which way to look
        part["files"] = [_content(path) for path in _read_by(stage, profile)]
        if stage not in _KEPT_ACROSS_VERSIONS:
            part["code"] = code_hash(faces=False)
        files = {p: _file_digest(root / "params", p) for p in _PARAMS.get(stage, ())}
        before = [out[name] for name in needs.get(stage, tuple(out)) if name in out]
        out[stage] = hash_bytes(json.dumps([stage, part, files, before], sort_keys=True, default=str).encode())
    return out


def _read_by(stage: str, profile: Profile) -> list[str | None]:
    """Paths of the profile whose content a stage depends on, wherever they lie."""
    hints, ladder = profile.context.hints, profile.context.ladder
    return {
        "targets": [profile.targets.frozen],
        "ladder": [ladder.path, ladder.decisions],
        "hints": [hints.frozen if hints else None],
    }.get(stage, [])


def _content(path: str | None) -> str:
    """Digest of a file, or of the files of a folder; empty for None and for what is not there."""
    if path is None:
        return ""
    place = Path(path)
    files = sorted(p for p in place.rglob("*") if p.is_file()) if place.is_dir() else [place]
    return hash_bytes(b"".join(p.name.encode() + b"\0" + p.read_bytes() + b"\0" for p in files if p.is_file()))


def source_fingerprint(profile: Profile) -> dict[str, Any]:
    """The source's settings and, for a folder, every file's name, size and time (not its place on this disk)."""
    source = profile.source.model_dump()
    for key in ("path", "positions", "images", "downloads"):
        value = source.pop(key)
        if value is not None:
            source[key] = _listing(Path(value))
    return source


def _listing(path: Path) -> list[tuple[str, int, int]]:
    if path.is_file():
        return [(path.name, path.stat().st_size, path.stat().st_mtime_ns)]
    rows = []
    for folder, _, names in os.walk(path):
        for name in names:
            file = Path(folder) / name
            try:
                stat = file.stat()
            except OSError:
                continue  # a link to nowhere: listed as unreadable by the stage
            rows.append((file.relative_to(path).as_posix(), stat.st_size, stat.st_mtime_ns))
    return sorted(rows)


def _file_digest(params: Path, pattern: str) -> str:
    files = sorted(p for p in params.glob(pattern) if p.is_file())
    return hash_bytes(b"".join(p.name.encode() + b"\0" + p.read_bytes() + b"\0" for p in files))


@lru_cache(maxsize=2)
def code_hash(*, faces: bool) -> str:
    """Hash of the package's own sources, so that results are made anew after the code has changed.

    `faces=False` leaves out figures, tables, report, driver and command line, which no stage depends on.
    """
    package = Path(__file__).resolve().parent
    parts: list[bytes] = []
    for path in sorted(package.rglob("*")):
        relative = path.relative_to(package)
        if path.suffix not in (".py", ".html", ".json", ".yml", ".css", ".js") or "__pycache__" in relative.parts:
            continue
        if not faces and relative.parts[0].startswith(_FACES):
            continue
        parts += [relative.as_posix().encode(), path.read_bytes()]
    return hash_bytes(b"\0".join(parts))


def hash_mapping(data: Mapping[str, Any]) -> str:
    """Hash of a mapping of plain values, whatever the order of its keys."""
    return hash_bytes(json.dumps(data, sort_keys=True, default=str).encode())
