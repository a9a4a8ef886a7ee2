"""Putting the claims, and what the verdicts are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from signpost_kit.benchmark.geocontext.trials import TOLERANCE_KM
from signpost_kit.errors import ConfigError, DataError
from signpost_kit.evaluation.plan import MissingPicture, Plan
from signpost_kit.files import hash_bytes, hash_file
from signpost_kit.models.base import Decoding, Request
from signpost_kit.prompts import Prompt, load

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["TASK", "claim_plan", "claim_question", "judged_frame"]

TASK = "claim"
"""The task under which the replies are stored."""


def claim_question(name: str, *, tolerance_km: float = TOLERANCE_KM, folder: Path | str | None = None) -> Prompt:
    """What is sent beside the picture: the claim by its name alone, no coordinates, no city, no description.

    Raises
    ------
    ConfigError
        The prompt lacks `{name}` or `{tolerance}`.
    """
    prompt = load(TASK, folder=folder)
    for field in ("{name}", "{tolerance}"):
        if field not in prompt.text:
            raise ConfigError(f"{prompt.path} lacks {field}")
    metres = f"{tolerance_km * 1000:.0f} m"
    text = prompt.text.replace("{tolerance}", metres).replace("{name}", " ".join(name.split()))
    return Prompt(TASK, text, hash_bytes(text.encode()), prompt.path)


def claim_plan(
    trials: pd.DataFrame,
    files: Mapping[str, Path],
    models: Sequence[str],
    *,
    tolerance_km: float = TOLERANCE_KM,
    decoding: Decoding | None = None,
) -> Plan:
    """One question per trial and model.

    Parameters
    ----------
    trials
        From :func:`make_trials`.
    files
        Picture as named in `shown` -> its file.

    Returns
    -------
    Plan
        task "claim", dataset = site, group_id = the picture's path, variant = the trial's id. A trial whose picture
        is gone is in `missing`.
    """
    if not models:
        raise ConfigError("claims need at least one model to ask")
    hashes: dict[str, str | None] = {}
    prompts: dict[str, Prompt] = {}
    requests: list[Request] = []
    missing: list[MissingPicture] = []
    for row in trials.to_dict("records"):
        shown, name = str(row["shown"]), str(row["cand"])
        if shown not in hashes:
            hashes[shown] = _hash(files.get(shown))
        image_hash = hashes[shown]
        if image_hash is None:
            missing.append(MissingPicture(str(row["path"]), str(row["trial_id"]), f"the picture {shown} is gone"))
            continue
        if name not in prompts:
            prompts[name] = claim_question(name, tolerance_km=tolerance_km)
        requests += [
            Request(
                task=TASK,
                model=model,
                image_path=files[shown],
                image_hash=image_hash,
                prompt=prompts[name].text,
                prompt_hash=prompts[name].hash,
                decoding=decoding or Decoding(),
                dataset=str(row["site"]),
                group_id=str(row["path"]),
                variant=str(row["trial_id"]),
            )
            for model in models
        ]
    if not requests:
        detail = f"{missing[0].reason}" if missing else "there is no trial"
        raise DataError(f"no claim can be put: {detail}")
    return Plan(tuple(requests), tuple(missing))


def _hash(file: Path | None) -> str | None:
    try:
        return None if file is None else hash_file(file)
    except OSError:
        return None


def judged_frame(trials: pd.DataFrame, replies: pd.DataFrame) -> pd.DataFrame:
    """The `trials` frame with verdicts: one row per trial and model.

    Parameters
    ----------
    replies
        What :meth:`ReplyStore.planned` gives with the columns `fields`, `text` and `reason`.

    Returns
    -------
    trial_id, model, site, image_id, path, arm, cand, band, truth, d_km, fam, cont, matched, verdict ("yes", "no" or
    missing), confidence (0..1 or NaN), status, reason, raw. A failed reply has no verdict, and stays as a row.
    """
    import pandas as pd

    said = [
        row if good and isinstance(row, Mapping) else {}
        for row, good in zip(replies["fields"], replies["status"].eq("ok"), strict=True)
    ]
    judged = pd.DataFrame(
        {
            "trial_id": replies["variant"].astype(str),
            "model": replies["model"].astype(str),
            "verdict": [fields.get("verdict") for fields in said],
            "confidence": [_share(fields.get("confidence")) for fields in said],
            "status": replies["status"].astype(str),
            "reason": replies["reason"].fillna("").astype(str),
            "raw": replies["text"].fillna("").astype(str),
        }
    )
    known = trials.drop(columns=["cand_lat", "cand_lon", "shown", "img_lat", "img_lon"], errors="ignore")
    out = known.merge(judged, on="trial_id", how="inner", validate="one_to_many")
    first = ["trial_id", "model"]
    return out.loc[:, [*first, *(name for name in out.columns if name not in first)]]


def _share(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else np.nan
