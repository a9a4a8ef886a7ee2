"""Whose a model is, for grouping results: the provider's name as the study and the figures spell it."""

from __future__ import annotations

from collections.abc import Iterable

from signpost_kit.errors import ConfigError, DataError

__all__ = ["OFFLINE", "OTHER", "provider_names"]

OFFLINE = "Offline"
"""The kit's own models."""
OTHER = "Other"
"""A model nobody knows."""


def provider_names(models: Iterable[str]) -> dict[str, str]:
    """Model -> provider: from params/models.yml (by name, identifier or title), else the published list of models.

    Capitals do not matter. A damaged or missing list is as an empty one: grouping must not stop a run.
    """
    known: dict[str, str] = {}
    try:
        from signpost_kit.published import published

        listed = published("signpost/models")
        for column in ("api_identifier", "model"):
            known |= dict(zip(listed[column].str.casefold(), listed["provider"], strict=True))
    except (DataError, KeyError):
        pass
    try:
        from signpost_kit.models.catalogue import load_catalogue

        for name, spec in load_catalogue().items():
            group = OFFLINE if spec.provider == "embedded" else spec.group
            for label in (spec.model_id, spec.title, name):
                known.setdefault(label.casefold(), group)
            known[name.casefold()] = group
    except (ConfigError, DataError):
        pass
    known.pop("", None)
    return {model: known.get(model.casefold()) or OTHER for model in models}
