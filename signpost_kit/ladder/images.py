"""The audit of the sites' pictures: a brightness filter, a model that is not evaluated, and people; who agrees.

The model's replies are in the run's store (task image_audit), people's verdicts in audits/image_verdicts.csv, as
`signpost audit sheets PROFILE --only images` and `signpost audit read` leave them. Neither sees the other's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from signpost_kit.audits.cells import read_sheet
from signpost_kit.errors import DataError, ModelError
from signpost_kit.evaluation.plan import Plan
from signpost_kit.files import hash_file
from signpost_kit.ladder.audit import check_auditor
from signpost_kit.models.base import Decoding, Provider, Request
from signpost_kit.prompts import Prompt, load

if TYPE_CHECKING:
    import pandas as pd

    from signpost_kit.evaluation import ReplyStore
    from signpost_kit.hints.plan import HintSite
    from signpost_kit.run import Run

__all__ = [
    "AUDIT_COLUMNS",
    "BRIGHTNESS",
    "audit_pictures",
    "brightness",
    "image_audit",
    "image_audit_of",
    "image_audit_plan",
    "image_verdicts",
]

TASK, PROMPT = "image_audit", "audit_image"
BRIGHTNESS = (40.0, 235.0)
"""Mean luma (0..255) between which a picture is neither night nor fog. The study filters by brightness as well and
does not say where; these bounds are ours."""
AUDIT_COLUMNS = (
    *("image", "site", "brightness", "ai_usable", "ai_overlay", "ai_overlay_text", "ai_scene", "ai_through_glass"),
    *("ai_tourist_infrastructure", "ai_quality", "ai_why", "ai_status", "human_usable", "human_reason"),
)
_YES_NO = ("usable", "overlay", "through_glass", "tourist_infrastructure")
_SIDE = 256


def brightness(path: Path) -> float:
    """Mean luma of a picture, 0..255 (weights of ITU-R BT.601), of a copy that is at most 256 pixels long.

    Raises
    ------
    PictureError
        It cannot be read as a picture.
    """
    from signpost_kit.images import load_rgb

    return float(np.asarray(load_rgb(path, max_side=_SIDE), dtype=float).mean(axis=(0, 1)) @ (0.299, 0.587, 0.114))


def image_audit_plan(
    pictures: Iterable[tuple[str, str, Path]], model: str, *, prompt: Prompt | None = None
) -> Plan:
    """One question per picture: (site, picture as it is called in the frames, file)."""
    asked = prompt or load(PROMPT)
    return Plan(
        tuple(
            Request(
                task=TASK,
                model=model,
                image_path=file,
                image_hash=hash_file(file),
                prompt=asked.text,
                prompt_hash=asked.hash,
                decoding=Decoding(0.0, 1024),
                dataset=site,
                group_id=name,
                variant="Original",
            )
            for site, name, file in pictures
        )
    )


def audit_pictures(
    sites: Sequence[HintSite],
    auditor: str | Mapping[str, Provider],
    *,
    store: ReplyStore,
    evaluated: Collection[str] = (),
    bounds: tuple[float, float] = BRIGHTNESS,
    **asking: Any,
) -> pd.DataFrame:
    """Have a model look at every picture that is neither too dark nor too bright; what is stored is not asked anew.

    Parameters
    ----------
    auditor
        A registered name, or {name: provider}.
    asking
        retry, timeout_s, attempts, concurrency, max_cost_usd, specs, progress of
        :func:`signpost_kit.evaluation.ask_plan`.

    Returns
    -------
    The columns of AUDIT_COLUMNS that begin with image, site, brightness and ai_: one row per picture. ai_status is
    that of the reply, or `dark`, `bright`, `unreadable`: then nothing was asked. What is not known is NaN.

    Raises
    ------
    ConfigError
        The auditor is unknown or evaluated.
    ModelError
        It was stopped; replies are kept.
    """
    import pandas as pd

    from signpost_kit.evaluation import ask_plan

    model = auditor if isinstance(auditor, str) else next(iter(auditor))
    if isinstance(auditor, str):
        check_auditor(model, evaluated)
    rows = [_looked_at(site.site, name, file, bounds) for site in sites for name, file in site.pictures]
    fit = [(row["site"], row["image"], row.pop("file")) for row in rows if not row["ai_status"]]
    plan = image_audit_plan(fit, model)
    if plan.requests:
        summary = ask_plan(plan, [model] if isinstance(auditor, str) else auditor, store=store, **asking)
        if not summary.complete:
            reason = summary.stopped.get(model) or f"{summary.unasked} questions are not answered yet"
            raise ModelError(f"the auditor {model} was stopped: {reason}. Its replies are kept: run again")
    replies = store.planned(plan, extra=("fields", "reason")) if plan.requests else None
    said: dict[tuple[str, str], dict[str, Any]] = {}
    if replies is not None:
        for row in replies.to_dict("records"):
            said[row["dataset"], row["group_id"]] = _said(row)
    return pd.DataFrame(
        [{**_said({}), **{k: v for k, v in row.items() if k != "file"}, **said.get((row["site"], row["image"]), {})}
         for row in rows],
        columns=list(AUDIT_COLUMNS[:-2]),
    )  # fmt: skip


def image_verdicts(path: Path) -> pd.DataFrame:
    """People's verdicts: image, site, human_usable (1.0, 0.0), human_reason; where one excludes, it is excluded.

    Raises
    ------
    DataError
        The file cannot be read, lacks a column, or a verdict is neither keep nor exclude (the row is named).
    """
    import pandas as pd

    found: dict[tuple[str, str], tuple[float, str]] = {}
    for line, row in read_sheet(path):
        absent = [name for name in ("site", "image", "verdict") if name not in row]
        if absent:
            raise DataError(f"{path} lacks the column(s) {', '.join(absent)}")
        verdict = row["verdict"].casefold()
        if verdict not in ("keep", "exclude"):
            raise DataError(f"{path} row {line}: the verdict is {row['verdict']!r}; allowed: keep, exclude")
        place = row["site"], row["image"]
        usable, reason = float(verdict == "keep"), row.get("reason", "")
        if place not in found or usable < found[place][0]:
            found[place] = usable, reason
    rows = [(image, site, usable, reason) for (site, image), (usable, reason) in found.items()]
    return pd.DataFrame(rows, columns=["image", "site", "human_usable", "human_reason"])


def image_audit(by_model: pd.DataFrame | None, by_people: pd.DataFrame | None) -> pd.DataFrame:
    """Both audits beside each other, one row per picture, AUDIT_COLUMNS; either may be absent."""
    import pandas as pd

    columns = list(AUDIT_COLUMNS)
    if by_model is not None and by_people is not None:
        frame = by_model.merge(by_people, on=["image", "site"], how="outer", sort=False)
    else:
        given = by_people if by_model is None else by_model
        frame = pd.DataFrame(columns=columns) if given is None else given
    text = ("ai_overlay_text", "ai_scene", "ai_why", "ai_status", "human_reason")
    frame = frame.reindex(columns=columns)
    return frame.assign(**{name: frame[name].astype(object).fillna("") for name in text}).reset_index(drop=True)


def image_audit_of(run: Run) -> pd.DataFrame:
    """The image audit of a run: its auditor's (asked now, if one is named) and people's (if sheets were read).

    Raises
    ------
    ConfigError, ModelError
        See :func:`audit_pictures`.
    DataError
        The verdicts are damaged.
    """
    from signpost_kit.audits.filled import IMAGE_VERDICTS
    from signpost_kit.stages.context_common import sites_of_run

    options, asking = run.profile.context.ladder, run.profile.evaluation
    by_model = by_people = None
    if options.image_auditor:
        evaluated = () if run.profile.context.respondents else tuple(run.profile.models)
        with run.store() as store:
            by_model = audit_pictures(
                sites_of_run(run),
                options.image_auditor,
                store=store,
                evaluated=evaluated,
                retry=run.retry,
                timeout_s=asking.timeout_s,
                concurrency=asking.concurrency,
                max_cost_usd=options.max_cost_usd,
            )
    path = run.dir / "audits" / IMAGE_VERDICTS
    if path.is_file():
        by_people = image_verdicts(path)
    return image_audit(by_model, by_people)


def _looked_at(site: str, name: str, file: Path, bounds: tuple[float, float]) -> dict[str, Any]:
    row: dict[str, Any] = {"image": name, "site": site, "file": file, "ai_status": "", "brightness": np.nan}
    try:
        row["brightness"] = round(brightness(file), 1)
    except DataError as error:
        return {**row, "ai_status": "unreadable", "ai_why": str(getattr(error, "reason", error))}
    if row["brightness"] < bounds[0]:
        return {**row, "ai_status": "dark", "ai_usable": 0.0, "ai_why": "too dark"}
    if row["brightness"] > bounds[1]:
        return {**row, "ai_status": "bright", "ai_usable": 0.0, "ai_why": "too bright"}
    return row


def _said(row: Mapping[str, Any]) -> dict[str, Any]:
    """The auditor's answers of a stored reply, as columns."""
    given = row.get("fields") or {}
    values = {f"ai_{name}": _share(given.get(name)) for name in _YES_NO}
    quality = given.get("quality")
    return {
        **values,
        "ai_quality": np.nan if quality is None else float(quality),
        "ai_overlay_text": str(given.get("overlay_text") or ""),
        "ai_scene": str(given.get("scene") or ""),
        "ai_why": str(given.get("why") or row.get("reason") or ""),
        "ai_status": str(row.get("status") or ""),
    }


def _share(value: Any) -> float:
    return np.nan if value is None else float(bool(value))
