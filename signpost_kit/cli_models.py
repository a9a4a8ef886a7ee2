"""`signpost models`: which models there are, and whether one of them really answers.

The list reads params/models.yml and looks for keys; nothing is asked. `--check` asks each model one tiny question
about a small drawn picture, as a run would ask it, and tells what it took.
"""

from __future__ import annotations

import asyncio
import importlib
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from signpost_kit.errors import ConfigError, SignpostError

if TYPE_CHECKING:
    from signpost_kit.models.base import Answer, Request
    from signpost_kit.models.catalogue import ModelSpec, Price

__all__ = ["Checked", "check_models", "list_models", "run_models"]

QUESTION = "Which colour is the disc in this picture? Answer with one word."
_COLOUR = "red"
_HEAD = ("name", "provider", "key", "$ in / out", "as of", "notes")
_LONGEST_ANSWER = 40
_SDKS = {"openai": "openai", "compatible": "openai", "anthropic": "anthropic", "google": "google.genai"}


@dataclass(frozen=True)
class Checked:
    """What came of asking one model."""

    name: str
    ok: bool | None
    """None: it was not asked."""
    told: str
    """One line for a person."""

    def __str__(self) -> str:
        return f"{self.name}: {self.told}"


def run_models(names: Sequence[str] = (), *, check: bool = False, say: Callable[[str], None] = print) -> bool:
    """The command itself. False if a model that was asked did not answer.

    Parameters
    ----------
    names
        Only these; none: all (with `check`: all that have a key and are not offline).
    check
        Ask them.

    Raises
    ------
    ConfigError
        An unknown name; close matches are named. Or params/models.yml has a fault.
    """
    if not check:
        for line in list_models(names):
            say(line)
        return True
    fine = True
    for result in check_models(names):
        say(str(result))
        fine = fine and result.ok is not False
    return fine


def list_models(names: Sequence[str] = ()) -> list[str]:
    """The table of models as lines, the head first; keys are looked for and never shown."""
    rows = [_HEAD, *(_row(name) for name in _known(names))]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD) - 1)]
    lines = []
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        lines.append("  ".join([*cells, row[-1]]).rstrip())
    return [*lines, "", "$: US dollars per million tokens; params/models.yml names the source of each price"]


def check_models(names: Sequence[str] = (), *, timeout_s: float = 60.0) -> list[Checked]:
    """Ask each model the tiny question, all at once; results in the order of `names`.

    Parameters
    ----------
    names
        None: all of params/models.yml that have a key, or need none, and are not offline.

    Raises
    ------
    ConfigError
        An unknown name, or nothing to ask.
    """
    from signpost_kit.models.registry import model_spec

    chosen = _known(names)
    if not names:
        chosen = [name for name in chosen if _can_be_asked(model_spec(name))]
        if not chosen:
            raise ConfigError("no model of params/models.yml has its key: `signpost models` shows what is missing")
    _import_sdks({spec.provider for name in chosen if (spec := model_spec(name)) is not None})
    with tempfile.TemporaryDirectory(prefix="signpost-check-") as folder:
        return asyncio.run(_check_all(chosen, _draw(Path(folder)), timeout_s))


def _known(names: Sequence[str]) -> list[str]:
    from signpost_kit.models.registry import model_names, model_spec

    for name in names:
        model_spec(name)  # raises for an unknown one
    return list(dict.fromkeys(names)) or list(model_names())


def _row(name: str) -> tuple[str, ...]:
    from signpost_kit.models.registry import model_spec

    spec = model_spec(name)
    if spec is None:
        return (name, "Python", "-", "-", "-", "registered in Python")
    price, date = _priced(spec.price)
    return (name, _provider(spec), _key(spec), price, date, "; ".join(_notes(spec)))


def _provider(spec: ModelSpec) -> str:
    if spec.provider == "embedded":
        return "offline"
    return spec.group if spec.pool.casefold() == spec.group.casefold() else f"{spec.group} ({spec.pool})"


def _key(spec: ModelSpec) -> str:
    from signpost_kit.models.keys import has_key, key_source

    if spec.key_env is None:
        return "not needed"
    if has_key(spec.key_env):
        return "yes"
    return f"{'damaged' if key_source(spec.key_env) else 'no'}: {spec.key_env}"


def _priced(price: Price | None) -> tuple[str, str]:
    if price is None:
        return "unknown", ""
    if price.input == price.output == 0:
        return "free", ""
    return f"{price.input:g} / {price.output:g}", price.date


def _notes(spec: ModelSpec) -> list[str]:
    notes = [f"study: {', '.join(spec.studies)}"] if spec.studies else []
    if spec.model_id != spec.name:
        notes.append(f"asked for as {spec.model_id}")
    if not spec.reads_images:
        notes.append("text only")
    if spec.thinking:
        notes.append("thinks")
    return [*notes, spec.description] if spec.description else notes


def _can_be_asked(spec: ModelSpec | None) -> bool:
    from signpost_kit.models.keys import has_key

    return spec is not None and spec.provider != "embedded" and spec.reads_images and has_key(spec.key_env)


def _import_sdks(providers: Iterable[str]) -> None:
    """Before the clock starts: it takes seconds, and would count as a model's latency."""
    for provider in providers:
        if provider in _SDKS:
            importlib.import_module(_SDKS[provider])


def _draw(folder: Path) -> Path:
    """A red disc on white, 128 x 128: large enough for every provider, and a few tokens."""
    from PIL import Image, ImageDraw

    from signpost_kit.images import save_png

    picture = Image.new("RGB", (128, 128), (255, 255, 255))
    ImageDraw.Draw(picture).ellipse((24, 24, 104, 104), fill=(220, 20, 20))
    path = folder / "disc.png"
    save_png(path, picture)
    return path


async def _check_all(names: Sequence[str], picture: Path, timeout_s: float) -> list[Checked]:
    return list(await asyncio.gather(*(_check(name, picture, timeout_s) for name in names)))


async def _check(name: str, picture: Path, timeout_s: float) -> Checked:
    from signpost_kit.models.base import ProviderError
    from signpost_kit.models.keys import redact
    from signpost_kit.models.registry import get_model, model_spec

    spec = model_spec(name)
    if spec is not None and not spec.reads_images:
        return Checked(name, None, "not asked: it takes no pictures")
    begin = time.perf_counter()
    try:
        provider = get_model(name, http_timeout_s=timeout_s)
        try:
            answer = await asyncio.wait_for(provider.ask(_request(name, spec, picture)), timeout_s)
        finally:
            await provider.close()
    except (asyncio.TimeoutError, TimeoutError):  # two classes until Python 3.11
        return Checked(name, False, f"FAILED: no answer within {timeout_s:g} s")
    except (ProviderError, SignpostError) as error:
        return Checked(name, False, f"FAILED: {redact(' '.join(str(error).split()))}")
    except Exception as error:  # of a provider of the user's own
        return Checked(name, False, f"FAILED: {type(error).__name__}: {redact(' '.join(str(error).split()))}")
    return Checked(name, answer.status == "ok", redact(_told(spec, answer, time.perf_counter() - begin)))


def _request(name: str, spec: ModelSpec | None, picture: Path) -> Request:
    from signpost_kit.files import hash_bytes
    from signpost_kit.images import image_hash
    from signpost_kit.models.base import Request

    offline = spec is not None and spec.provider == "embedded"
    return Request(
        task="coordinate" if offline else "check",  # offline models know the studies' tasks only
        model=name,
        image_path=picture,
        image_hash=image_hash(picture),
        prompt=QUESTION,
        prompt_hash=hash_bytes(QUESTION.encode()),
    )


def _told(spec: ModelSpec | None, answer: Answer, seconds: float) -> str:
    """Status, time, what it said, what it accepted, tokens, money."""
    from signpost_kit.models.keys import redact

    parts = [f"{answer.status} in {seconds:.1f} s"]
    if answer.status != "ok":
        parts.append(" ".join((answer.reason or answer.finish_reason).split()))
    text = " ".join(redact(answer.text or "").split())  # before it is shortened: half a key is no known key
    if text:
        shown = text if len(text) <= _LONGEST_ANSWER else f"{text[: _LONGEST_ANSWER - 3]}..."
        offline = spec is not None and spec.provider == "embedded"
        doubt = "" if offline or _COLOUR in text.casefold() else f" (the disc is {_COLOUR}: does it see pictures?)"
        parts.append(f"said {shown!r}{doubt}")
    if spec is None or spec.provider != "embedded":
        parts += [*_accepted(spec, answer), _tokens(answer)]
    parts.append(_cost(spec, answer))
    return "; ".join(part for part in parts if part)


def _accepted(spec: ModelSpec | None, answer: Answer) -> list[str]:
    """How the limit of tokens and the temperature were sent, where it was not as params/models.yml has it: why."""
    if spec is None:
        return []
    limit = answer.notes.get("max_tokens")
    warmth = answer.notes.get("temperature")
    return [
        f"limit of tokens {limit}" if limit else f"took {spec.token_field}",
        f"temperature {warmth}" if warmth else "took temperature 0",
    ]


def _tokens(answer: Answer) -> str:
    used = answer.usage
    if used.input_tokens is None and used.output_tokens is None:
        return "tokens not told"
    return f"{used.input_tokens or 0} + {used.output_tokens or 0} tokens"


def _cost(spec: ModelSpec | None, answer: Answer) -> str:
    from signpost_kit.evaluation.cost import price_of

    usd = answer.price_usd
    if usd is None and spec is not None:
        usd = price_of(answer.usage, spec.price)
    if usd is not None:
        return "free" if usd == 0 else f"${usd:.6f}"
    if spec is not None and spec.price is None:
        return f"price unknown: fill in {spec.price_line}"
    return "price unknown"
