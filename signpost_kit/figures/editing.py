"""How good the edits are by the checks that were made: read back, the rest unchanged, attempts, the worst ones."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from signpost_kit.figures.style import DOUBLE, GREY, INK, VARIANT_LOOK, canvas, empty, style
from signpost_kit.frames import EDITED_VARIANTS

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from signpost_kit.benchmark import Benchmark

__all__ = [
    "EDIT_COLUMNS",
    "TEXT_COLUMNS",
    "draw_attempts",
    "draw_outside",
    "draw_read_back",
    "edits_frame",
    "fig_edit_quality",
    "fig_worst_edits",
    "marked_edits",
    "read_back_rates",
    "texts_frame",
]

EDIT_COLUMNS = (
    "group_id", "variant", "image", "original", "editor", "checked", "passed", "reasons", "attempts", "attempt",
    "ssim", "changed_share", "likeness",
)  # fmt: skip
"""One row per edited picture; NaN where it was not checked."""
TEXT_COLUMNS = ("group_id", "variant", "text", "new_text", "script", "height", "verdict", "likeness", "read")
"""One row per text that was to be written; `read` is 1 or 0, NaN where the engine cannot tell."""

HEIGHTS = ("< 12 px", "12-20 px", "20-32 px", "> 32 px", "unknown")
_BAR = "#8aa4b8"
_EDGES = (12.0, 20.0, 32.0)
_MARGIN = 0.7  # of the signs' extent, shown around them


def edits_frame(benchmark: Benchmark) -> pd.DataFrame:
    """:data:`EDIT_COLUMNS` of all pictures that an editor made; `likeness` is that of the worst text read for."""
    rows = []
    for group in benchmark.groups:
        for variant in EDITED_VARIANTS:
            record = group.generation.get(variant, {})
            checks = record.get("checks")
            if variant not in group.images or not record:
                continue
            outside = (checks or {}).get("outside", {})
            alike = [s["likeness"] for s in (checks or {}).get("spans", ()) if s.get("likeness") is not None]
            rows.append((
                group.group_id,
                variant,
                str(benchmark.image_path(group, variant)),
                str(benchmark.image_path(group, "Original")) if "Original" in group.images else "",
                str(record.get("editor", "")),
                checks is not None,
                float(checks["passed"]) if checks else np.nan,
                "; ".join(checks["reasons"]) if checks else "",
                checks["attempts"] if checks else np.nan,
                checks["attempt"] if checks else np.nan,
                outside.get("ssim", np.nan),
                outside.get("changed_share", np.nan),
                min(alike, default=np.nan),
            ))  # fmt: skip
    return pd.DataFrame(rows, columns=pd.Index(EDIT_COLUMNS))


def marked_edits(benchmark: Benchmark) -> pd.DataFrame:
    """Pictures that did not pass their checks, with the reasons; they stay in the benchmark."""
    edits = edits_frame(benchmark)
    columns = ["group_id", "variant", "attempts", "reasons"]
    return edits.loc[edits["passed"] == 0, columns].reset_index(drop=True)


def texts_frame(benchmark: Benchmark) -> pd.DataFrame:
    """:data:`TEXT_COLUMNS` of all texts that were to be written; the height is the original sign's, pixels."""
    from signpost_kit.editing.checks import UNREADABLE
    from signpost_kit.fonts import script_of

    rows = []
    for group in benchmark.groups:
        for variant in EDITED_VARIANTS[1:]:
            record = group.generation.get(variant, {})
            spans = record.get("checks", {}).get("spans", ())
            for span, checked in zip(group.spans, spans, strict=False):
                if not checked["new_text"]:
                    continue
                verdict = checked["verdict"]
                known = verdict not in (UNREADABLE, "not removed")
                rows.append((
                    group.group_id,
                    variant,
                    span.text,
                    checked["new_text"],
                    script_of(checked["new_text"]),
                    _height(span.polygon),
                    verdict,
                    checked.get("likeness", np.nan),
                    float(verdict == "read") if known else np.nan,
                ))  # fmt: skip
    return pd.DataFrame(rows, columns=pd.Index(TEXT_COLUMNS))


def _height(polygon: tuple[tuple[float, float], ...]) -> float:
    """Of a line of text: the shorter side of the smallest rectangle around it, pixels."""
    import cv2

    if len(polygon) < 3:
        return np.nan
    return float(min(cv2.minAreaRect(np.asarray(polygon, dtype=np.float32))[1]))


def read_back_rates(texts: pd.DataFrame) -> pd.DataFrame:
    """Share of texts read back, by kind of text, script and height of the sign.

    Returns
    -------
    DataFrame
        Rows (by, value, rate, n, unreadable): `rate` of the `n` texts that the engine could have read (NaN for
        none), and how many beside are in scripts that it does not know.
    """
    from signpost_kit.editing.checks import UNREADABLE

    data = texts.assign(
        kind=texts["variant"],
        size=[
            HEIGHTS[4] if np.isnan(h) else HEIGHTS[int(np.searchsorted(_EDGES, h, "right"))]
            for h in texts["height"]
        ],
    )
    rows = []
    orders = {
        "kind": [v for v in EDITED_VARIANTS[1:] if v in set(data["kind"])],
        "script": list(data["script"].value_counts().index),
        "size": [h for h in HEIGHTS if h in set(data["size"])],
    }
    for by, values in orders.items():
        for value in values:
            part = data.loc[data[by] == value]
            told = part["read"].dropna()
            rows.append(
                (
                    by,
                    value,
                    told.mean() if len(told) else np.nan,
                    len(told),
                    int((part["verdict"] == UNREADABLE).sum()),
                )
            )
    return pd.DataFrame(rows, columns=pd.Index(["by", "value", "rate", "n", "unreadable"]))


def fig_edit_quality(edits: pd.DataFrame, texts: pd.DataFrame) -> Figure:
    """Three panels: read-back rates, what changed outside the masks, and attempts used."""
    rates = read_back_rates(texts)
    lines = len(rates) + rates["by"].nunique() * 1.4
    with style():
        height = min(max(3.0, 0.8 + 0.165 * lines), 9.3)
        figure, axes = canvas(DOUBLE, height, rows=1, columns=3, gridspec_kw={"width_ratios": [1.5, 1, 1]})
        panels: list[Callable[[Axes], None]] = [
            lambda ax: draw_read_back(rates, ax),
            lambda ax: draw_outside(edits, ax),
            lambda ax: draw_attempts(edits, ax),
        ]
        for ax, draw in zip(axes, panels, strict=True):
            draw(ax)
    return figure


def draw_read_back(rates: pd.DataFrame, ax: Axes) -> None:
    """Bars of :func:`read_back_rates`, each with its number of texts; a script that no engine read has no bar."""
    ax.set_title("New text read back")
    if rates.empty:
        empty(ax, "no edit was checked")
        return
    heads = {"kind": "variant", "script": "script", "size": "height of the sign"}
    y, ticks, labels = 0.0, [], []
    for by, part in rates.groupby("by", sort=False):
        ax.text(-0.02, y, heads[str(by)], transform=ax.get_yaxis_transform(), ha="right", va="center", color=GREY)
        y += 1
        for row in part.to_dict("records"):
            rate, n, unreadable = float(row["rate"]), int(row["n"]), int(row["unreadable"])
            look = VARIANT_LOOK.get(str(row["value"]))
            if np.isfinite(rate):
                ax.barh(y, rate * 100, height=0.72, color=look.color if look else _BAR)
            told = f"{rate * 100:.0f} %  ({n})" if np.isfinite(rate) else ""
            unknown = f"{unreadable} unreadable" if unreadable else ""
            inside = np.isfinite(rate) and rate > 0.75
            note = " + ".join(part for part in (told, unknown) if part)
            ax.text(3 if inside else (rate * 100 if np.isfinite(rate) else 0) + 2, y, note, va="center",
                    fontsize=6, color=_on(look.color if look else _BAR) if inside else INK)  # fmt: skip
            ticks.append(y)
            labels.append(str(row["value"]))
            y += 1
        y += 0.4
    ax.set_yticks(ticks, labels)
    ax.set_ylim(y - 0.4, -0.7)
    ax.set_xlim(0, 100)
    ax.set_xlabel("texts read, % (of n)")
    ax.axvline(80, color=INK, linewidth=0.6, linestyle=":")


def _on(color: str) -> str:
    """White or dark letters, whichever read better on a bar."""
    from matplotlib.colors import to_rgb

    from signpost_kit.figures.vision import contrast

    return max(("white", INK), key=lambda letters: contrast(to_rgb(letters), to_rgb(color)))


def draw_outside(edits: pd.DataFrame, ax: Axes) -> None:
    """SSIM outside the masks, one dot per picture, by variant; the share of changed pixels stands below."""
    ax.set_title("Outside the mask")
    data = edits.dropna(subset=["ssim"])
    if data.empty:
        empty(ax, "nothing was measured")
        return
    rng = np.random.default_rng(0)
    for place, variant in enumerate(EDITED_VARIANTS):
        part = data.loc[data["variant"] == variant]
        if part.empty:
            continue
        look = VARIANT_LOOK[variant]
        x = place + rng.uniform(-0.2, 0.2, len(part))
        ax.plot(x, part["ssim"], look.marker, color=look.color, markerfacecolor=look.face, markersize=3, alpha=0.6)
        changed = part["changed_share"].mean() * 100
        text = "0 %" if changed == 0 else f"{changed:.1f} %"
        ax.annotate(text, (place, 0), xycoords=("data", "axes fraction"), xytext=(0, 3), textcoords="offset points",
                    ha="center", fontsize=6, color=GREY)  # fmt: skip
    ax.set_xticks(range(len(EDITED_VARIANTS)), EDITED_VARIANTS, rotation=35, ha="right", rotation_mode="anchor")
    low = float(data["ssim"].min())
    ax.set_ylim(min(low - 0.02, 0.9), 1.01)
    ax.set_xlim(-0.6, len(EDITED_VARIANTS) - 0.4)
    ax.set_ylabel("SSIM (1: unchanged)")
    ax.set_xlabel("below: share of pixels changed", color=GREY)


def draw_attempts(edits: pd.DataFrame, ax: Axes) -> None:
    """How many attempts the pictures took, those that passed and those that were marked."""
    from matplotlib.patches import Patch

    ax.set_title("Attempts used")
    data = edits.dropna(subset=["attempts"])
    if data.empty:
        empty(ax, "no edit was checked")
        return
    most = int(data["attempts"].max())
    counts = {
        done: [int(((data["attempts"] == n) & (data["passed"] == done)).sum()) for n in range(1, most + 1)]
        for done in (1.0, 0.0)
    }
    x = np.arange(1, most + 1)
    ax.bar(x, counts[1.0], 0.66, color="#0072B2")
    bad = np.array(counts[0.0])
    there = bad > 0  # a bar without height would still have its outline
    ax.bar(
        x[there],
        bad[there],
        0.66,
        bottom=np.array(counts[1.0])[there],
        color="white",
        edgecolor="#D55E00",
        hatch="////",
    )
    for n, good, wrong in zip(x, counts[1.0], counts[0.0], strict=True):
        ax.annotate(
            f"{good + wrong}", (n, good + wrong), xytext=(0, 2), textcoords="offset points", ha="center", fontsize=6
        )
    ax.set_xticks(x)
    ax.set_xlabel("attempts")
    ax.set_ylabel("pictures")
    ax.set_ylim(0, max(good + wrong for good, wrong in zip(counts[1.0], counts[0.0], strict=True)) * 1.12)
    ax.set_title("Attempts used", pad=16)
    marks = [
        Patch(color="#0072B2", label="passed"),
        Patch(facecolor="white", edgecolor="#D55E00", hatch="////", label="marked"),
    ]
    ax.legend(handles=marks, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, columnspacing=0.8,
              handletextpad=0.4)  # fmt: skip


def fig_worst_edits(edits: pd.DataFrame, benchmark: Benchmark, *, limit: int = 6) -> Figure:
    """The pictures that did not pass, the Original beside each: the most reasons and the worst reading first.

    Only the signs' surroundings are shown. When all passed, the ones that were read worst are shown instead.
    """
    order = edits.loc[edits["checked"].astype(bool)].copy()
    order["faults"] = order["reasons"].str.count("; ") + (order["reasons"] != "")
    order = order.sort_values(
        ["passed", "faults", "likeness", "group_id", "variant"],
        ascending=[True, False, True, True, True],
        kind="stable",
    ).head(limit)
    groups = {group.group_id: group for group in benchmark.groups}
    with style():
        if order.empty:
            figure, ax = canvas(DOUBLE, 1.2)
            empty(ax, "no edit was checked: set editing.checks to true")
            return figure
        pairs = 2
        rows = -(-len(order) // pairs)
        figure, axes = canvas(DOUBLE, 1.75 * rows, rows=rows, columns=2 * pairs, squeeze=False)
        for ax in axes.flat:
            ax.set_axis_off()
        for number, row in enumerate(order.to_dict("records")):
            before, after = axes[number // pairs, 2 * (number % pairs) : 2 * (number % pairs) + 2]
            polygons = [span.polygon for span in groups[str(row["group_id"])].spans if span.polygon]
            _show(before, str(row["original"]), polygons)
            _show(after, str(row["image"]), polygons)
            before.set_title(
                "\n".join(textwrap.wrap(f"{row['group_id']} · {row['variant']}", 34)[:2]), fontsize=6.5
            )
            told = str(row["reasons"]) or f"passed, likeness {row['likeness']:.2f}"
            after.set_title("\n".join(_wrapped(told, 36, 3)), fontsize=6, fontweight="normal", color="#B0410B")
    return figure


def _wrapped(text: str, width: int, most: int) -> list[str]:
    """At most so many lines of a text; letters of Chinese or Japanese count twice, and may be parted anywhere."""
    import unicodedata

    lines, used = [""], 0
    for word in text.split(" "):
        cost = sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in word) + 1
        if lines[-1] and used + cost > width:
            lines.append("")
            used = 0
        lines[-1] += word + " "
        used += cost
    return lines[:most]


def _show(ax: Axes, path: str, polygons: list[tuple[tuple[float, float], ...]]) -> None:
    """The part of a picture around its signs; a picture that is not there says so."""
    from pathlib import Path

    from signpost_kit.images import load_rgb

    if not path or not Path(path).is_file():
        empty(ax, "no picture")
        return
    picture = load_rgb(path)
    height, width = picture.shape[:2]
    if polygons:
        points = np.concatenate([np.asarray(p, dtype=float).reshape(-1, 2) for p in polygons])
        low, high = points.min(axis=0), points.max(axis=0)
        grow = max(12.0, _MARGIN * float((high - low).min()))
        x0, y0 = (int(v) for v in np.clip(low - grow, 0, [width - 1, height - 1]))
        x1, y1 = (int(np.ceil(v)) for v in np.clip(high + grow, [x0 + 1, y0 + 1], [width, height]))
        picture = picture[y0:y1, x0:x1]
    ax.imshow(picture)
