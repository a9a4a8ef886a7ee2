"""Probing and defense: accuracy and conflicts seen (fig. 4), a case's pictures (fig. 18) and evidence (fig. 19)."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from signpost_kit.figures.basemap import window_for
from signpost_kit.figures.cells import READING, in_order, pick, rows_of, wide
from signpost_kit.figures.maps import crop_sign, shorten, show_picture
from signpost_kit.figures.style import DOUBLE, GREY, INK, PALE, VARIANT_LOOK, Look, canvas, empty, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["TASK_LOOK", "case_map", "case_pictures", "evidence", "fig04", "fig18", "fig19", "probing_profile"]

TASK_LOOK: dict[str, Look] = {
    "coordinate": Look(INK, "o"),
    "probing": Look("#0072B2", "s", filled=False),
    "defense": Look("#D55E00", "^"),
}
"""Told apart by shape and filling."""
_NAMES = {"coordinate": "plain question", "probing": "probing", "defense": "defense"}
_STEP = 0.27  # between the lines of one model


# -- fig. 4 ----------------------------------------------------------------------------------------------------


def fig04(tasks: pd.DataFrame, *, published: pd.DataFrame | None = None, reading: str = READING) -> Figure:
    """WLA and conflict detection of every model, asked plainly, probing and with a warning.

    Parameters
    ----------
    tasks
        The frame of that name of the stage `analysis`.
    published
        Published scores in the same form (`published_frames()["tasks"]`); None: the run alone.
    """
    n = len(_models(tasks, reading)) + (0 if published is None else published["model"].nunique() + 1)
    with style():
        figure, axes = canvas(DOUBLE, 0.95 + 0.36 * max(n, 3), columns=2, width_ratios=(1.15, 1))
        probing_profile(tasks, axes, published=published, reading=reading)
    return figure


def _macro(tasks: pd.DataFrame, task: str, metric: str, variant: str | None, reading: str) -> pd.DataFrame:
    """Rows over all data sets of one score of one task."""
    if tasks.empty:
        return tasks
    rows = rows_of(rows_of(tasks, "task", task), "dataset", "macro")
    return pick(rows, metric, variant=variant, reading=reading)


def _models(tasks: pd.DataFrame, reading: str) -> list[str]:
    """Models that were asked any of the tasks drawn here, best WLA under probing (else defense) first."""
    mine = rows_of(tasks, "task", "probing", "defense") if len(tasks) else tasks
    if mine.empty:
        return []
    found = [_macro(tasks, task, "wla", "Adversarial", reading) for task in ("probing", "defense")]
    values = pd.concat([part.loc[:, ["model", "value"]] for part in found]).dropna().drop_duplicates("model")
    everyone = mine.loc[:, ["model"]].astype(str).drop_duplicates()
    return in_order(everyone.merge(values, on="model", how="left"), grouped=False)[0]


def probing_profile(
    tasks: pd.DataFrame,
    axes: Sequence[Axes],
    *,
    published: pd.DataFrame | None = None,
    reading: str = READING,
) -> None:
    """Fig. 4 on two axes: (a) Adversarial WLA by question, (b) conflicts seen in Adversarial pictures (CDA).

    Thin lines are 95 % intervals; what is missing gets no mark. In (b) small ticks show how often a conflict was
    also said to be in the Original, where there is none.
    """
    left, right = axes
    models = _models(tasks, reading)
    theirs = [] if published is None or published.empty else list(dict.fromkeys(published["model"].astype(str)))
    if not models and not theirs:
        for ax in axes:
            empty(ax, "Neither probing nor defense was asked in this run.", width=30)
        return
    ys = {name: float(i) for i, name in enumerate(models)}
    heading = len(models) - 0.2 if models and theirs else -1.0
    other = {name: heading + 1.0 + i for i, name in enumerate(theirs)}
    for task in TASK_LOOK:
        _marks(left, _macro(tasks, task, "wla", "Adversarial", reading), ys, task)
        if task != "coordinate":
            _marks(right, _macro(tasks, task, "cda", "Adversarial", reading), ys, task)
            _ticks(right, _macro(tasks, task, "conflict_said", "Original", reading), ys, task)
        if published is not None and theirs:
            mine = rows_of(published, "task", task)
            _marks(left, rows_of(mine, "metric", "wla"), other, task)
            _marks(right, rows_of(mine, "metric", "cda"), other, task)
    _names(left, right, ys, other, heading if models and theirs else None)
    _finish(left, "(a) Adversarial pictures", "WLA (%)", "No answer to an Adversarial picture has a position.")
    _finish(
        right,
        "(b) Conflicts seen",
        "CDA (%); small ticks: said of Originals",
        "No reply says whether there is a conflict.",
    )


def _marks(ax: Axes, rows: pd.DataFrame, ys: Mapping[str, float], task: str) -> None:
    models = list(ys)
    if rows.empty or not models:
        return
    look = TASK_LOOK[task]
    y = np.array(list(ys.values())) + _STEP * (list(TASK_LOOK).index(task) - 1)
    x, low, high = (100 * wide(rows, models, name) for name in ("value", "low", "high"))
    ok, bounded = np.isfinite(x), np.isfinite(low) & np.isfinite(high)
    if not ok.any():
        return
    ax.hlines(y[bounded], low[bounded], high[bounded], color=look.color, lw=0.8, zorder=2, gid="interval")
    name = _NAMES[task] if not _has(ax, _NAMES[task]) else "_"
    ax.plot(x[ok], y[ok], look.marker, color=look.color, mfc=look.face, ms=4.6, zorder=3, label=name, gid=task,
            clip_on=False)  # fmt: skip


def _ticks(ax: Axes, rows: pd.DataFrame, ys: Mapping[str, float], task: str) -> None:
    """How often a conflict was said to be where there is none."""
    models = list(ys)
    x = 100 * wide(rows, models) if len(rows) else np.full(len(models), np.nan)
    y = np.array(list(ys.values()), dtype=float) + _STEP * (list(TASK_LOOK).index(task) - 1)
    ok = np.isfinite(x)
    if not ok.any():  # an unclipped line without points would count as one at the figure's corner
        return
    ax.plot(x[ok], y[ok], "|", color=TASK_LOOK[task].color, ms=5, mew=0.9, zorder=2.5, gid=f"said-{task}",
            clip_on=False)  # fmt: skip


def _has(ax: Axes, label: str) -> bool:
    return label in ax.get_legend_handles_labels()[1]


def _names(
    left: Axes, right: Axes, ys: Mapping[str, float], other: Mapping[str, float], heading: float | None
) -> None:
    places = [*ys.values(), *other.values()]
    heads = [] if heading is None else [heading]
    labels = [*ys, *other, *(["Published, other scenes"] if heads else [])]
    left.set_yticks([*places, *heads], labels)
    if heads:
        left.get_yticklabels()[-1].set_fontweight("bold")
        left.yaxis.get_major_ticks()[-1].tick1line.set_visible(False)
    right.set_yticks([])
    for ax in (left, right):
        ax.set_ylim(max(places) + 0.6, min(places) - 0.6)
        for y in places:
            ax.axhspan(y - 0.42, y + 0.42, color="#f6f6f6", lw=0, zorder=0)


def _finish(ax: Axes, title: str, label: str, nothing: str) -> None:
    if not any(line.get_gid() in TASK_LOOK for line in ax.lines):
        limits, ticks, names = ax.get_ylim(), ax.get_yticks(), [t.get_text() for t in ax.get_yticklabels()]
        empty(ax, nothing, width=30)
        ax.set_ylim(limits)
        ax.set_yticks(ticks, names)
    else:
        ends = [part for line in ax.lines for part in np.atleast_1d(np.asarray(line.get_xdata(), float))]
        ends += [end for part in ax.collections if part.get_gid() == "interval" for end in _ends(part)]
        top = max([10.0, *(end for end in ends if np.isfinite(end))])
        ax.set_xlim(0, 100 if top > 80 else top * 1.08)
        ax.set_xlabel(label)
        ax.grid(axis="x")
        if ax.get_legend_handles_labels()[1]:
            ax.legend(loc="lower left", bbox_to_anchor=(-0.02, 1.0), ncols=3, columnspacing=0.8, handletextpad=0.1)
    ax.set_title(title, pad=17)


def _ends(collection: Any) -> list[float]:
    return [float(segment[:, 0].max()) for segment in collection.get_segments() if len(segment)]


# -- fig. 18 ---------------------------------------------------------------------------------------------------


def fig18(case: pd.DataFrame) -> Figure:
    """The Original and the edited picture of one case (of :func:`signpost_kit.figures.evidence.case_frame`)."""
    with style():
        figure, _ = canvas(DOUBLE, 3.6)
        figure.clear()
        if case.empty:
            empty(figure.add_subplot(), _NO_CASE)
            return figure
        grid = figure.add_gridspec(2, 2, height_ratios=(3.2, 1))
        case_pictures(case, [figure.add_subplot(grid[i // 2, i % 2]) for i in range(4)])
    return figure


_NO_CASE = "No case to show: neither probing nor defense was asked about an Adversarial picture in this run."


def case_pictures(case: pd.DataFrame, axes: Sequence[Axes]) -> None:
    """Two pictures above, their sign in close-up below; `axes` are four, row by row."""
    first = case.iloc[0]
    variant = str(first["variant"])
    for number, (name, image, text) in enumerate(
        (("Original", "image_original", "text_original"), (variant, "image", "text"))
    ):
        top, low = axes[number], axes[2 + number]
        color = VARIANT_LOOK[name].color
        show_picture(top, str(first[image]), 1000)
        top.set_title(name, loc="center", color=color, pad=3)
        part = crop_sign(str(first[image]), first["polygon"])
        if part is None:
            empty(low, "sign not located")
        else:
            low.imshow(part, aspect="equal")
            low.set_xticks([])
            low.set_yticks([])
            for spine in low.spines.values():
                spine.set_visible(True)
                spine.set_color(color)
                spine.set_linewidth(1.0)
        place = first["truth_name"] if name == "Original" else first["trap_name"]
        where = f"taken in {shorten(place, 44)}" if name == "Original" else f"names {shorten(place, 44)}"
        said = f"“{shorten(str(first[text]), 40)}”" if first[text] else "no text known"
        low.set_xlabel(f"{said}\n{where}" if place else said, fontsize=7, labelpad=3)


# -- fig. 19 ---------------------------------------------------------------------------------------------------


def fig19(case: pd.DataFrame) -> Figure:
    """One picture, probing against defense: what is stated, what is trusted, and where the answers lie."""
    with style():
        figure, _ = canvas(DOUBLE, 3.75 if case.empty else max(3.75, 0.5 + _card_inches(case)))
        figure.clear()
        if case.empty:
            empty(figure.add_subplot(), _NO_CASE)
            return figure
        halves: Any = figure.subfigures(1, 2, width_ratios=(1.15, 2))  # a legend below the map moves no card
        scene, cards = halves
        picture, world = scene.subplots(2, 1, height_ratios=(1, 1.05))
        first = case.iloc[0]
        show_picture(picture, str(first["image"]), 900)
        picture.set_title(f"{shorten(str(first['model']), 26)}, {first['variant']}", fontsize=7.5)
        if first["text"]:
            picture.set_xlabel(f"“{shorten(str(first['text']), 40)}”", fontsize=6.5, labelpad=2)
        case_map(case, world)
        panels = np.atleast_1d(cards.subplots(1, len(case)))
        for ax, (_, row) in zip(panels, case.iterrows(), strict=True):
            evidence({str(k): v for k, v in row.items()}, ax)
    return figure


def case_map(case: pd.DataFrame, ax: Axes) -> None:
    """Truth (star), the sign's place (open cross), and each task's answer with its way from the truth."""
    first = case.iloc[0]
    truth = (float(first["truth_lat"]), float(first["truth_lon"]))
    trap = (float(first["trap_lat"]), float(first["trap_lon"]))
    answers = case.loc[np.isfinite(case["lat"].astype(float)), :]
    ways = [(*truth, float(lat), float(lon)) for lat, lon in zip(answers["lat"], answers["lon"], strict=True)]
    spots = [truth, trap, *((lat, lon) for *_, lat, lon in ways)]
    window = window_for([lat for lat, _ in spots], [lon for _, lon in spots], ways=ways, aspect=1.75)
    window.draw(ax)
    for task, way in zip(answers["task"].astype(str), ways, strict=True):
        look = TASK_LOOK[task]
        window.arc(ax, truth, way[2:], color=look.color, lw=0.9, zorder=2, gid="arc")
        shape: dict[str, Any] = {"mfc": look.color if look.filled else "none", "mew": 1.0, "ms": 8.0}
        ax.plot(window.unwrap(way[3]), way[2], look.marker, color=look.color, ls="none", zorder=4, gid=task,
                label=_NAMES[task], **shape)  # fmt: skip
    star: dict[str, Any] = {"ms": 6.5, "mec": "white", "mew": 0.6, "ls": "none"}  # on top: answers may lie there
    ax.plot(window.unwrap(truth[1]), truth[0], "*", color=INK, zorder=5, gid="truth", label="truth", **star)
    if np.isfinite(trap).all():
        ax.plot(window.unwrap(trap[1]), trap[0], "P", ms=10, mfc="none", mec=INK, mew=0.8, ls="none", zorder=3.5,
                gid="trap", label="the sign's place")  # fmt: skip
    ax.legend(loc="upper left", bbox_to_anchor=(0, 0), ncols=2, fontsize=6.5, handletextpad=0.3, columnspacing=0.9)


_LINES = (
    ("Sights", "visual", "visual_region", 7),
    ("Writing", "textual", "textual_region", 5),
    ("Trusted", "trusted", "trusted_why", 5),
)
_WIDTH = 43  # letters of a line in a card
_SIZE, _LINE, _GAP = 6.5, 9.7, 4.0  # points: letters, lines, and the space between two fields


def _fields(row: Mapping[str, Any]) -> list[tuple[str, list[str]]]:
    """The fields of a card, each in lines."""
    parts = [(name, _said(row[key], row[more]), most) for name, key, more, most in _LINES]
    parts.insert(2, (*_judgement(row), 6))
    parts.append(("Answer", _answer(row), 3))
    return [(name, _wrapped(text, _WIDTH, most)) for name, text, most in parts]


def _card_inches(case: pd.DataFrame) -> float:
    """Height that the longest card of a case needs."""
    cards = [_fields({str(k): v for k, v in row.items()}) for _, row in case.iterrows()]
    return max(sum(_LINE * (1 + len(lines)) + 1 + 2 * _GAP for _, lines in card) for card in cards) / 72


def evidence(row: Mapping[str, Any], ax: Axes) -> None:
    """What one reply states, as a card: both kinds of evidence, the judgement, the trusted source, the answer."""
    from matplotlib.transforms import offset_copy

    task = str(row["task"])
    look = TASK_LOOK[task]
    ax.set_xticks([])
    ax.set_yticks([])
    ax.set_xlim(0, 1)
    for spine in ax.spines.values():
        spine.set_visible(True)
        spine.set_color(look.color)
    ax.set_title(_NAMES[task].capitalize(), color=look.color)
    if not row["status"]:
        ax.text(
            0.5, 0.5, "not asked about this picture", transform=ax.transAxes, ha="center", color=GREY, gid="said"
        )
        return
    y = -_GAP
    for number, (name, lines) in enumerate(_fields(row)):
        if number:
            rule = offset_copy(ax.transAxes, ax.figure.figure, y=y, units="points")
            ax.plot([0.035, 0.965], [1, 1], color=PALE, lw=0.5, transform=rule, scalex=False, scaley=False)
            y -= _GAP
        said: dict[str, Any] = {"color": GREY if lines == [_SILENT] else INK, "gid": "said"}
        heading: dict[str, Any] = {"fontweight": "bold", "gid": "field"}
        for text, look_of in ((name, heading), ("\n".join(lines), said)):
            ax.annotate(text, (0.035, 1), xycoords="axes fraction", xytext=(0, y), textcoords="offset points",
                        va="top", fontsize=_SIZE, linespacing=1.1, in_layout=False, **look_of)  # fmt: skip
            y -= _LINE * (text.count("\n") + 1) + (1.0 if look_of is heading else 0.0)
        y -= _GAP


_SILENT = "not stated"


def _said(first: Any, second: Any) -> str:
    """A statement and what stands beside it (a region, a reason)."""
    words = [" ".join(str(part).split()) for part in (first, second) if str(part).strip()]
    return ": ".join(words) if words else _SILENT


def _judgement(row: Mapping[str, Any]) -> tuple[str, str]:
    """How the task asks for it: probing whether both agree, defense whether they clash; missing stays missing."""
    name = "Consistent" if row["task"] == "probing" else "Conflict"
    return name, _said(row["judgement"], row["judgement_why"])


def _answer(row: Mapping[str, Any]) -> str:
    if not np.isfinite(row["lat"]):
        return f"no position ({str(row['status']).replace('_', ' ')})"
    text = f"{row['lat']:.2f}, {row['lon']:.2f}; {row['error_km']:,.0f} km from the truth"
    return text + (f", {row['trap_km']:,.0f} km from the sign's place" if np.isfinite(row["trap_km"]) else "")


def _wrapped(text: str, width: int, most: int) -> list[str]:
    """Lines of at most `width` letters (a wide one counts twice), the last with an ellipsis where text is left."""
    lines = [""]
    for piece in _pieces(text):
        if lines[-1] and _size(lines[-1]) + _size(piece) > width:
            lines.append(piece.lstrip())
        else:
            lines[-1] += piece
    if len(lines) <= most:
        return lines
    last = lines[most - 1]
    while _size(last) > width - 1:
        last = last[:-1]
    return [*lines[: most - 1], last.rstrip(" ,;.") + "…"]


def _pieces(text: str) -> list[str]:
    """Words with the space before them; scripts without spaces, and very long words, letter by letter."""
    out: list[str] = []
    for number, word in enumerate(text.split()):
        lead = " " if number else ""
        if len(word) > 24 or any(unicodedata.east_asian_width(c) in "WF" for c in word):
            out += [lead + word[0], *word[1:]]
        else:
            out.append(lead + word)
    return out


def _size(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
