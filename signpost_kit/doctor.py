"""What this machine has and lacks, checked for real where that takes no more than a second."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from signpost_kit.errors import SignpostError

__all__ = ["Finding", "check_all"]

_KEYS = (
    ("OpenAI", ("OPENAI_API_KEY",)),
    ("Anthropic", ("ANTHROPIC_API_KEY",)),
    ("Google", ("GEMINI_API_KEY",)),
    ("DashScope", ("DASHSCOPE_API_KEY",)),
    ("Moonshot", ("MOONSHOT_API_KEY",)),
    ("Ark", ("ARK_API_KEY",)),
    ("xAI", ("XAI_API_KEY",)),
    ("OpenRouter", ("OPENROUTER_API_KEY",)),
)
_LOW_DISK_BYTES = 500_000_000


@dataclass(frozen=True)
class Finding:
    """One line of the doctor's answer."""

    mark: str
    """ok, note (something optional is missing) or FAIL."""
    what: str
    detail: str


def check_all() -> list[Finding]:
    """Every check, in the order they are shown; a check that breaks is a finding, not an error."""
    findings: list[Finding] = []
    for check in (_python, _packages, _project, _fonts, _ocr, _models, _kernel, _disk, _keys):
        try:
            findings += check()
        except (SignpostError, ImportError, OSError, RuntimeError, ValueError) as error:
            name = check.__name__.lstrip("_")
            findings.append(Finding("FAIL", name, " ".join(f"{type(error).__name__}: {error}".split())))
    return findings


def _python() -> list[Finding]:
    good = sys.version_info >= (3, 10)
    detail = f"{platform.python_version()} at {Path(sys.executable).parent.parent.name}, {platform.platform()}"
    if not good:
        detail += "; signpost_kit needs 3.10 or newer"
    return [
        Finding("ok" if good else "FAIL", "python", detail),
        Finding("ok", "cores", str(os.cpu_count() or 1)),
    ]


def _packages() -> list[Finding]:
    from packaging.requirements import Requirement

    wrong: list[str] = []
    wanted = [Requirement(text) for text in metadata.requires("signpost_kit") or []]
    needed = [r for r in wanted if r.marker is None or r.marker.evaluate({"extra": ""})]
    for requirement in needed:
        try:
            version = metadata.version(requirement.name)
        except metadata.PackageNotFoundError:
            wrong.append(f"{requirement.name} is missing")
            continue
        if not requirement.specifier.contains(version, prereleases=True):
            wrong.append(f"{requirement.name} {version} is not {requirement.specifier}")
    if wrong:
        return [Finding("FAIL", "packages", "; ".join(wrong) + "; run `make demo` or pip install -e .")]
    return [Finding("ok", "packages", f"{len(needed)} required packages are there")]


def _project() -> list[Finding]:
    from signpost_kit.notebooks.graph import discover
    from signpost_kit.profiles import available_profiles, project_root

    root = project_root()
    profiles, notebooks = available_profiles(root), discover(root)
    return [
        Finding("ok" if profiles else "FAIL", "profiles", ", ".join(profiles) or f"none in {root / 'params'}"),
        Finding("ok", "notebooks", f"{len(notebooks)} in a sound graph"),
    ]


def _fonts() -> list[Finding]:
    from signpost_kit.fonts import missing_glyphs

    samples = {
        "Latin": "Aé",
        "Cyrillic": "Ж",
        "Japanese": "か",
        "Han": "路",
        "Hangul": "길",
        "Arabic": "ش",
        "Thai": "ถ",
    }
    lacking = [script for script, text in samples.items() if missing_glyphs(text, script)]
    if lacking:
        return [Finding("FAIL", "fonts", f"no glyphs for {', '.join(lacking)}: install manimgx-fonts(-cjk)")]
    return [Finding("ok", "fonts", f"{len(samples)} scripts tried")]


def _ocr() -> list[Finding]:
    out: list[Finding] = []
    for name, modules, needed in (
        ("rapidocr", ("rapidocr", "onnxruntime"), True),
        ("easyocr", ("easyocr", "torch"), False),
    ):
        absent = [module for module in modules if importlib.util.find_spec(module) is None]
        if not absent:
            out.append(Finding("ok", f"ocr {name}", "present"))
        elif needed:
            out.append(Finding("FAIL", f"ocr {name}", f"missing: {', '.join(absent)}"))
        else:
            out.append(Finding("note", f"ocr {name}", f"optional: pip install 'signpost_kit[{name}]'"))
    return out


def _models() -> list[Finding]:
    from signpost_kit.models.registry import model_names

    names = model_names()
    return [Finding("ok" if names else "FAIL", "models", ", ".join(names) or "none registered")]


def _kernel() -> list[Finding]:
    """Start a real kernel, as the driver does, and stop it."""
    import time

    import nbformat

    from signpost_kit.notebooks.kernel import remove_socket_dir, socket_dir
    from signpost_kit.notebooks.worker import Task, execute

    folder = socket_dir()
    begin = time.perf_counter()
    try:
        source = folder / "try.ipynb"
        cell = nbformat.v4.new_code_cell("1 + 1")
        nbformat.write(nbformat.v4.new_notebook(cells=[cell]), source)
        outcome = execute(Task("try", source, folder / "tried.ipynb", timeout_s=60), folder)
    finally:
        remove_socket_dir(folder)
    if not outcome.ok:
        return [Finding("FAIL", "kernel", outcome.message)]
    return [Finding("ok", "kernel", f"started and stopped in {time.perf_counter() - begin:.1f} s")]


def _disk() -> list[Finding]:
    from signpost_kit.files import cache_dir
    from signpost_kit.preflight import check_writable
    from signpost_kit.profiles import project_root

    out: list[Finding] = []
    for what, folder in (("runs", project_root() / "runs"), ("cache", cache_dir(""))):
        check_writable(folder)
        place = next(p for p in (folder, *folder.parents) if p.exists())
        free = shutil.disk_usage(place).free
        mark = "ok" if free >= _LOW_DISK_BYTES else "note"
        out.append(Finding(mark, f"disk {what}", f"{free / 1e9:.1f} GB free, writable"))
    return out


def _keys() -> list[Finding]:
    from signpost_kit.models.keys import has_key

    out: list[Finding] = []
    for provider, names in _KEYS:
        present = next((name for name in names if has_key(name)), None)
        detail = f"{present} is set" if present else f"{' or '.join(names)} is not set"
        out.append(Finding("ok" if present else "note", f"key {provider}", detail))
    return out
