"""Keys: found in the environment or in a .env file, checked for what goes wrong when they are copied, never shown.

Every key that was found is remembered, so that :func:`redact` can take it out of any text: a provider's error
message, a traceback, a log line.
"""

from __future__ import annotations

import os
import re
import threading
from pathlib import Path
from urllib.parse import quote

from signpost_kit.errors import ModelError

__all__ = ["find_key", "has_key", "key_source", "looks_like_key", "redact", "remember"]

_HIDDEN = "[key]"
_SHORTEST = 8  # a shorter "key" would cut holes into ordinary text
_QUOTES = "\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u201f\u00ab\u00bb\u2039\u203a\u00b4`"
_INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff\u00ad"
_PLACEHOLDER = re.compile(
    r"(?:your|my|the|an?|enter|insert|add|paste|put|replace|change)?[\W_]*"
    r"(?:open\s?ai|anthropic|gemini|google|dashscope|moonshot|ark|xai|openrouter|deepseek|provider)?[\W_]*"
    r"(?:(?:secret|api)[\W_]*)*(?:key|token|secret)[\W_]*(?:here|me|goes|value|placeholder)*[\W_]*"
    r"|(?:sk|xai|key)?[\W_]*(?:x{3,}|\.{3,}|\*{3,}|0{6,}|1234567?8?9?0?)[\W_]*"
    r"|todo|tbd|change[\W_]?me|placeholder|none|null|dummy|test|fixme|replace[\W_]?me|<[^>]*>|\$\{?\w+\}?",
    re.IGNORECASE,
)
_LIKELY = re.compile(
    r"(?:sk|pk|rk|xai|gsk|hf|ark)[-_][A-Za-z0-9_-]{8,}|AIza[\w-]{20,}|(?=\S*\d)(?=\S*[a-zA-Z])[\w-]{24,}"
)
_BEARER = re.compile(
    r"(?i)(\bbearer\s+|\bx-(?:goog-)?api-key[\"']?\s*[:=]\s*[\"']?|[?&]key=|\bapi[_-]?key[\"']?\s*[:=]\s*[\"']?)"
    r"(?=[^\s\"'&]*\d)[\w.~+/%-]{8,}=*"
)
_NAMED = re.compile(r"\b(?:[A-Z][A-Z0-9]*_)*(?:API_)?(?:KEY|TOKEN|SECRET)\b")

_known: set[str] = set()
_lock = threading.Lock()


def find_key(env_name: str) -> str:
    """The key in the environment variable `env_name`, else in the nearest .env file.

    Spaces and line ends around it and straight quotes (a shell or .env habit) are taken off silently; whatever else
    is wrong is told, because the provider would only say "invalid key".

    Raises
    ------
    ModelError
        Missing, empty, a placeholder, or damaged in copying; the message has the remedy and never the key.
    """
    value, source = _look_up(env_name)
    if value is None:
        near = _near_misses(env_name)
        hint = f"{near} is set: is that the one? " if near else ""
        raise ModelError(
            f"{env_name} is not set: {hint}put the key into the environment (export {env_name}=...) or into a "
            f"file .env in the project's folder (one line, {env_name}=...)"
        )
    key = _checked(value, env_name, source)
    remember(key)
    return key


def has_key(env_name: str | None) -> bool:
    """Whether a usable key is there; True for None (no key is needed). Never raises."""
    if env_name is None:
        return True
    try:
        find_key(env_name)
    except ModelError:
        return False
    return True


def key_source(env_name: str) -> str:
    """Where the key comes from: "environment", the name of the .env file's folder, or "" if it is missing."""
    return _look_up(env_name)[1]


def remember(key: str) -> None:
    """Let :func:`redact` hide `key` from now on."""
    if len(key) >= _SHORTEST:
        with _lock:
            _known.add(key)


def redact(text: str) -> str:
    """`text` with every known key, and what stands behind "Bearer" or "key=", replaced by "[key]".

    Known are the keys that were found or remembered in this process, and those in variables of the environment
    whose name ends in KEY, TOKEN or SECRET.
    """
    for key in sorted(_known | _in_environment(), key=len, reverse=True):
        text = text.replace(key, _HIDDEN).replace(quote(key, safe=""), _HIDDEN)
    return _BEARER.sub(lambda found: f"{found[1]}{_HIDDEN}", text)


def looks_like_key(text: str) -> bool:
    """Whether a text may be a key, so that it is better not shown."""
    return bool(_LIKELY.search(text)) or any(key in text for key in _known)


def _look_up(name: str) -> tuple[str | None, str]:
    value = os.environ.get(name)
    if value is not None and value.strip():
        return value, "environment"
    for path in _dotenv_files():
        found = _read_dotenv(path).get(name)
        if found is not None and found.strip():
            return found, str(path)
    return (value, "environment") if value is not None else (None, "")


def _dotenv_files() -> list[Path]:
    """The .env of the working directory, then of the project's folder."""
    from signpost_kit.profiles import project_root

    here = Path.cwd()
    return list(dict.fromkeys(p for folder in (here, project_root(here)) if (p := folder / ".env").is_file()))


def _read_dotenv(path: Path) -> dict[str, str]:
    """The lines `NAME=value` and `export NAME=value` of a file; comments, quotes and a byte order mark understood.

    Raises
    ------
    ModelError
        The file cannot be read, or is not UTF-8.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise ModelError(f"cannot read the keys in {path}: {reason}") from None
    out: dict[str, str] = {}
    for line in text.splitlines():
        name, found, value = line.strip().removeprefix("export ").partition("=")
        if found and not name.lstrip().startswith("#"):
            out[name.strip()] = _without_comment(value.strip())
    return out


def _without_comment(value: str) -> str:
    if value[:1] in ("'", '"') and (end := value.find(value[0], 1)) > 0:
        return value[: end + 1]
    return re.split(r"\s#", value, maxsplit=1)[0].rstrip()


def _checked(value: str, name: str, source: str) -> str:
    """The key itself, or a ModelError that says what happened to it on the way."""
    key = value.strip()
    if len(key) > 1 and key[0] == key[-1] and key[0] in "\"'":
        key = key[1:-1].strip()
    where = f"{name} (from {'the environment' if source == 'environment' else source})"
    if not key:
        raise ModelError(f"{where} is empty: put the key there")
    if any(mark in key for mark in _QUOTES):
        raise ModelError(
            f"{where} has typographic quotation marks in it (‘ ’ “ ”), which a word processor put there: write the "
            "key without any quotes"
        )
    if key[0] in "\"'" or key[-1] in "\"'":
        raise ModelError(f"{where} has a quotation mark at one end only: write the key without any quotes")
    if re.match(r"(?i)bearer\b", key):
        raise ModelError(f"{where} begins with 'Bearer': leave that word out, the client adds it")
    if key.startswith(f"{name}="):
        raise ModelError(f"{where} holds its own name again ({name}=...): keep only what follows the =")
    if _PLACEHOLDER.fullmatch(key):
        raise ModelError(f"{where} holds a placeholder, not a key: put your own key there")
    if any(mark in key for mark in _INVISIBLE):
        raise ModelError(f"{where} has an invisible character in it, from copying: type or copy it anew")
    if re.search(r"\s", key):
        what = "a line break" if re.search(r"[\r\n]", key) else "a space"
        raise ModelError(f"{where} has {what} in the middle: copy the whole key on one line")
    if not key.isascii() or not key.isprintable():
        raise ModelError(f"{where} has a character that no key has (a letter outside ASCII): copy it anew")
    return key


def _in_environment() -> set[str]:
    return {
        value.strip().strip("\"'")
        for name, value in os.environ.items()
        if len(value.strip()) >= 2 * _SHORTEST and _NAMED.search(name)
    }


def _near_misses(name: str) -> str:
    """A variable that was probably meant: another case, or a common other name of the same key."""
    same = {"GEMINI_API_KEY": ("GOOGLE_API_KEY",), "ANTHROPIC_API_KEY": ("CLAUDE_API_KEY",)}
    for other in os.environ:
        if other != name and (other.upper() == name or other in same.get(name, ())) and os.environ[other].strip():
            return other
    return ""
