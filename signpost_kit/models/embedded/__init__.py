"""Five models that need no key, no network and no GPU, and answer through the same path as a paid one.

prior     one constant place, whatever the picture
reader    the writing only: OCR and a gazetteer
looker    the sights only: coarse colours and lines, learned on drawn streets
aligned   sights and writing, weighed as learned from streets whose signs always told the truth
hardened  the same, weighed as learned from streets some of whose signs lied

A sixth, `writer`, guesses no place: it writes replacement texts, see :mod:`.writer`.

Importing this package registers them and does nothing else; they learn when first asked, or in :func:`prepare`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable

from signpost_kit.models.base import Provider
from signpost_kit.models.embedded.provider import EmbeddedProvider
from signpost_kit.models.registry import register

__all__ = ["EMBEDDED_MODELS", "EmbeddedProvider", "prepare"]

EMBEDDED_MODELS: tuple[str, ...] = ("prior", "reader", "looker", "aligned", "hardened")
_LEARNED = frozenset({"looker", "aligned", "hardened"})

for _name in EMBEDDED_MODELS:
    register(_name, functools.partial(EmbeddedProvider, _name))


@register("writer")
def _writer() -> Provider:
    from signpost_kit.models.embedded.writer import WriterProvider

    return WriterProvider()


def prepare(names: Iterable[str], *, tell: Callable[[str], None] | None = None) -> None:
    """Let the offline models among `names` learn, or load what they learned, before a run's clock starts.

    Other names are left alone. The first time takes some seconds and is announced through `tell` (one line;
    by default on standard error); after that it is a matter of milliseconds.
    """
    if _LEARNED & set(names):
        from signpost_kit.models.embedded.training import load_mind

        load_mind(tell=tell)
