"""manifest.json: what a run was made from and what came out, enough to tell whether two runs should agree.

    format          1
    name, title, status ("ok", "failed", "interrupted"), started, finished (UTC), seconds
    command         what was asked for: only, force, workers, ...
    git             {"commit", "dirty"} of the project, or null outside a repository
    python, platform, packages {name: version}, code_hash
    profile         the resolved profile
    inputs          {path: hash} of profile, parameter files and benchmark
    stages          {stage: {"inputs_hash", "counts", "rejected" (how many), "seconds"}}
    rows            {table: rows}
    notebooks       [{"id", "title", "kind", "status" ("ok", "failed", "skipped", "cached", "interrupted"),
                      "seconds", "message", "cause", "key", "outputs" {path: hash}, "executed" (path), "finished",
                      "kernel_starts" (more than 1 when a start failed and was repeated)}]
    failures        [{"id", "message"}] of the notebooks that failed

Paths are relative to the project's folder or, for what lies in the run's folder, to that. The environment is not
written, and values of its variables that look like keys are blotted out wherever they turn up.
"""

from __future__ import annotations

import csv
import json
import os
import platform
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from typing import Any

import yaml

from signpost_kit.files import hash_file, write_text
from signpost_kit.profiles import dump_profile
from signpost_kit.run import Run
from signpost_kit.run_inputs import code_hash

__all__ = ["FORMAT", "build", "git_state", "now", "package_versions", "read", "redact", "relative", "write"]

FORMAT = 1
_SECRET_NAME = re.compile(r"key|token|secret|passw|credential", re.IGNORECASE)
_SHORTEST_SECRET = 8


def read(run: Run) -> dict[str, Any]:
    """The manifest of the run's last execution; {} if there is none or it is damaged."""
    try:
        data = json.loads((run.dir / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) and data.get("format") == FORMAT else {}


def build(
    run: Run,
    *,
    status: str,
    started: str,
    seconds: float,
    command: Mapping[str, Any],
    notebooks: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """Everything the manifest holds, see the module's text."""
    return {
        "format": FORMAT,
        "name": run.name,
        "title": run.profile.title,
        "status": status,
        "started": started,
        "finished": now(),
        "seconds": round(seconds, 2),
        "command": dict(command),
        "git": git_state(run.root),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": package_versions(),
        "code_hash": code_hash(faces=True),
        "profile": yaml.safe_load(dump_profile(run.profile, run.root)),
        "inputs": _inputs(run),
        "stages": _stages(run),
        "rows": _rows(run),
        "notebooks": [dict(entry) for entry in notebooks],
        "failures": [
            {"id": entry["id"], "message": entry["message"]} for entry in notebooks if entry["status"] == "failed"
        ],
    }


def write(run: Run, manifest: Mapping[str, Any]) -> Path:
    """Write manifest.json, whole or not at all, without secrets and home folders; return its path."""
    path = run.dir / "manifest.json"
    write_text(path, json.dumps(_clean(manifest, run.root), indent=1, ensure_ascii=False) + "\n")
    return path


def now() -> str:
    """The present time as UTC, to the second."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def relative(path: Path, run: Run) -> str:
    """`path` from the run's folder if it lies there, else from the project's, else as it is."""
    for base in (run.dir, run.root):
        if path.is_relative_to(base):
            return path.relative_to(base).as_posix()
    return str(path)


def git_state(root: Path) -> dict[str, Any] | None:
    """Commit of the project's folder and whether tracked files were changed; None outside a repository."""
    try:
        commit = _git(root, "rev-parse", "HEAD")
        changed = _git(root, "status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.SubprocessError):
        return None
    return {"commit": commit, "dirty": bool(changed)}


def package_versions() -> dict[str, str]:
    """Installed versions of this package and of what it requires, by name."""
    try:
        wanted = [text for text in metadata.requires("signpost_kit") or [] if "extra ==" not in text]
    except metadata.PackageNotFoundError:
        wanted = []
    names = sorted({re.split(r"[^\w.-]", text, maxsplit=1)[0] for text in wanted} | {"signpost_kit"}, key=str.lower)
    out: dict[str, str] = {}
    for name in names:
        try:
            out[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return out


def redact(text: str, root: Path) -> str:
    """`text` without values of key-like environment variables, and with short paths for project and home."""
    for name, value in os.environ.items():
        if _SECRET_NAME.search(name) and len(value) >= _SHORTEST_SECRET and value in text:
            text = text.replace(value, f"[{name}]")
    text = text.replace(f"{root}/", "")
    home = str(Path.home())
    return text.replace(f"{home}/", "~/") if len(home) > 1 else text


def _clean(value: Any, root: Path) -> Any:
    if isinstance(value, str):
        return redact(value, root)
    if isinstance(value, Mapping):
        return {key: _clean(item, root) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [_clean(item, root) for item in value]
    return value


def _git(root: Path, *arguments: str) -> str:
    command = ["git", "-C", str(root), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    return done.stdout.strip()


def _inputs(run: Run) -> dict[str, str]:
    params = run.root / "params"
    files: Iterable[Path] = [
        run.dir / "profile.yml",
        run.dir / "benchmark" / "groups.jsonl",
        *sorted(params.glob("*.yml")),
        *sorted((params / "prompts").rglob("*")),
    ]
    return {relative(path, run): hash_file(path) for path in files if path.is_file()}


def _stages(run: Run) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for path in sorted((run.dir / "stages").glob("*.json"), key=lambda p: p.stat().st_mtime_ns):
        entry = run.stage_record(path.stem)
        if entry is not None:
            out[path.stem] = {key: entry.get(key) for key in ("inputs_hash", "counts", "seconds")}
            out[path.stem]["rejected"] = len(entry.get("rejected") or ())
    return out


def _rows(run: Run) -> dict[str, int]:
    out: dict[str, int] = {}
    for path in sorted((run.dir / "tables").glob("*.csv")):
        with path.open(newline="", encoding="utf-8") as handle:
            out[path.stem] = max(0, sum(1 for _ in csv.reader(handle)) - 1)
    return out
