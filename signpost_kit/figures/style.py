"""The one look of every figure: sizes for print, colours that survive colour blindness and a grey printer.

Nothing here changes matplotlib's global settings: :func:`style` is a context, :func:`canvas` makes figures that
belong to no window and no global list, :func:`save` writes the files.
"""

from __future__ import annotations

import contextlib
import functools
import io
import logging
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from signpost_kit.errors import ConfigError, DataError
from signpost_kit.files import atomic_path, safe_name
from signpost_kit.frames import VARIANTS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "DOUBLE",
    "GREY",
    "INK",
    "PALETTE",
    "SINGLE",
    "SMALLEST",
    "VARIANT_DASHES",
    "VARIANT_LOOK",
    "Look",
    "SavedFigure",
    "canvas",
    "empty",
    "ink",
    "provider_looks",
    "save",
    "signed",
    "style",
]

SINGLE, DOUBLE = 3.3, 6.9
"""Widths in inches of one and of two columns of a journal page."""
SMALLEST = 5.5
"""Points: nothing in a figure is smaller. Journals ask for 5 to 7 at final size."""
INK, GREY, PALE = "#1a1a1a", "#6b6b6b", "#d9d9d9"
DPI = 300
SCREEN_DPI = 110

# Okabe and Ito's palette for all kinds of colour vision, the yellow left out (too light on white).
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#555555", "#882255")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "h")
_HATCHES = ("", "////", "....", "xxxx", "\\\\\\\\", "----", "++++", "oooo")


@dataclass(frozen=True)
class Look:
    """How one thing is drawn: the marker and hatch say without colour what the colour says with it."""

    color: str
    marker: str
    hatch: str = ""
    filled: bool = True

    @property
    def face(self) -> str:
        """Fill of the marker: its colour, or white for an open one."""
        return self.color if self.filled else "white"


VARIANT_LOOK: dict[str, Look] = dict(
    zip(
        VARIANTS,
        (
            Look("#1a1a1a", "o"),
            Look("#555555", "s", filled=False),
            Look("#009E73", "^"),
            Look("#E69F00", "D"),
            Look("#D55E00", "X"),
        ),
        strict=True,
    )
)
"""Original dark and filled, Blank open, Adversarial a cross: told apart by shape alone."""

VARIANT_DASHES: dict[str, Any] = dict(
    zip(VARIANTS, ("-", (0, (4, 1.5)), (0, (1, 1)), (0, (5, 1.2, 1, 1.2)), (0, (7, 1))), strict=True)
)
"""Dashes of a variant where it is a line, so that curves are told apart without colour too."""


def ink(color: str) -> str:
    """The colour for letters: darkened, hue kept, until it reads on white paper (contrast 4.5)."""
    from matplotlib.colors import to_hex, to_rgb

    from signpost_kit.figures.vision import contrast

    red, green, blue = to_rgb(color)
    shades = ((red * k, green * k, blue * k) for k in (1 - step / 20 for step in range(20)))
    return next((to_hex(shade) for shade in shades if contrast(shade, (1, 1, 1)) >= 4.5), INK)


def provider_looks(providers: Sequence[str]) -> dict[str, Look]:
    """One look per provider, in the order given; beyond eight, colours repeat with open markers."""
    names = list(dict.fromkeys(providers))
    n = len(PALETTE)
    return {
        name: Look(PALETTE[i % n], _MARKERS[(i + i // n) % n], _HATCHES[(i + i // n) % n], filled=i < n)
        for i, name in enumerate(names)
    }


def _settings() -> Any:
    from signpost_kit.figures.typeface import BASE_FAMILY, SYMBOL_FAMILY

    return {
        "font.family": [BASE_FAMILY, SYMBOL_FAMILY],
        "font.size": 7.5,
        "axes.titlesize": 8,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
        "axes.labelsize": 7.5,
        "xtick.labelsize": 7,
        "ytick.labelsize": 7,
        "legend.fontsize": 7,
        "figure.dpi": 150,
        "savefig.dpi": DPI,
        "pdf.fonttype": 42,
        "ps.fonttype": 42,
        "text.hinting": "no_hinting",  # widths as in the PDF, at whatever resolution
        "text.parse_math": False,  # a model may be called a$b$
        "axes.linewidth": 0.6,
        "axes.edgecolor": INK,
        "axes.labelcolor": INK,
        "text.color": INK,
        "xtick.color": INK,
        "ytick.color": INK,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "axes.unicode_minus": True,
        "ytick.alignment": "center",
        "grid.color": "#e4e4e4",
        "grid.linewidth": 0.5,
        "xtick.major.width": 0.6,
        "ytick.major.width": 0.6,
        "xtick.major.size": 2.5,
        "ytick.major.size": 2.5,
        "lines.linewidth": 1.0,
        "lines.markersize": 4.5,
        "hatch.linewidth": 0.5,
        "legend.frameon": False,
        "legend.handlelength": 1.4,
        "legend.borderaxespad": 0.2,
        "image.interpolation": "antialiased",
    }


@contextlib.contextmanager
def style() -> Iterator[None]:
    """Within this context matplotlib draws in the kit's style; outside, its settings are as before."""
    import matplotlib

    from signpost_kit.figures.typeface import base_fonts

    base_fonts()
    with matplotlib.rc_context(_settings()):
        yield


def canvas(
    width: float = SINGLE,
    height: float = 2.6,
    *,
    rows: int = 1,
    columns: int = 1,
    **grid: Any,
) -> tuple[Figure, Any]:
    """A new figure of `width` x `height` inches and its axes, as `matplotlib.pyplot.subplots` shapes them.

    The figure is in no global list, so nothing has to be closed. Use it inside :func:`style`.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = _shown_figure()(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    figure.get_layout_engine().set(w_pad=0.03, h_pad=0.03)  # type: ignore[union-attr]
    return figure, figure.subplots(rows, columns, **grid)


@functools.cache
def _shown_figure() -> type[Figure]:
    """A figure that shows itself as the last value of a notebook's cell, drawn as it would be saved."""
    from matplotlib.figure import Figure as _Figure

    class ShownFigure(_Figure):
        def _repr_png_(self) -> bytes:
            from signpost_kit.figures.typeface import dress

            written = io.BytesIO()
            with style():
                dress(self)
                self.savefig(written, format="png", dpi=SCREEN_DPI)
            return written.getvalue()

    return ShownFigure


def signed(value: float) -> str:
    """A change with its sign and one decimal, `+1.2` or `−1.2`; what rounds to nothing is `0.0`."""
    text = f"{value:+.1f}"
    return "0.0" if float(text) == 0 else text.replace("-", "−")


def empty(ax: Axes, message: str, *, width: int = 44) -> None:
    """Turn `ax` into a frame that says why there is nothing to see, in lines of at most `width` letters."""
    import textwrap

    ax.clear()
    ax.set_xticks([])
    ax.set_yticks([])
    for spine in ax.spines.values():
        spine.set_visible(True)
        spine.set_color(PALE)
    wrapped = "\n".join(textwrap.wrap(message, width))
    ax.text(0.5, 0.5, wrapped, transform=ax.transAxes, ha="center", va="center", color=GREY)


class _HasFigures(Protocol):
    @property
    def figures_dir(self) -> Path: ...


@dataclass(frozen=True)
class SavedFigure:
    """Where a figure was written. Shown in a notebook it is the very picture on disk."""

    png: Path
    pdf: Path

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        data = self.png.read_bytes()
        width, height = (int.from_bytes(data[i : i + 4], "big") for i in (16, 20))  # of the PNG's header
        return data, {"width": round(width * 110 / DPI), "height": round(height * 110 / DPI)}

    def __repr__(self) -> str:
        return f"{self.png.name} and {self.pdf.name} in {self.png.parent}"


class _Glyphs(logging.Handler):
    """Collects what matplotlib logs about fonts it could not find."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if "findfont" in record.getMessage():
            self.messages.append(record.getMessage())


def save(fig: Figure, run: _HasFigures | Path, id: str) -> SavedFigure:
    """Write `fig` as `<figures_dir>/<id>.png` (300 dpi) and `.pdf` (fonts embedded), each whole or not at all.

    `run` is a run or a folder. Equal figures give equal bytes: no time and no version is written.

    Raises
    ------
    ConfigError
        `id` is no plain file name.
    DataError
        A label has a character that no font draws.
    StorageError
        The folder cannot be written.
    """
    from signpost_kit.figures.typeface import dress

    if safe_name(id) != id:
        raise ConfigError(f"{id!r} is no plain file name for a figure; use letters, digits, '-' and '_'")
    folder = run if isinstance(run, Path) else run.figures_dir
    png, pdf = folder / f"{id}.png", folder / f"{id}.pdf"
    listener = _Glyphs()
    logger = logging.getLogger("matplotlib.font_manager")
    logger.addHandler(listener)
    try:
        with style(), warnings.catch_warnings():
            warnings.filterwarnings("error", message=r"Glyph \d+ .*missing from")
            dress(fig)
            with atomic_path(png) as temporary:
                fig.savefig(temporary, format="png", dpi=DPI, metadata={"Software": None})
            with atomic_path(pdf) as temporary:
                fig.savefig(
                    temporary, format="pdf", metadata={"CreationDate": None, "Producer": None, "Creator": None}
                )
    except UserWarning as error:
        raise DataError(f"figure {id}: {error}; change the label or the name it comes from") from error
    finally:
        logger.removeHandler(listener)
    if listener.messages:
        raise DataError(f"figure {id}: a font was not found ({listener.messages[0]})")
    return SavedFigure(png, pdf)
