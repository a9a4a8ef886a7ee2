"""What is looked at before a run starts, so that a model that cannot write replacements is told of at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from signpost_kit.errors import ConfigError

if TYPE_CHECKING:
    from signpost_kit.profile_sections import Replacements

__all__ = ["check_replacements"]


def check_replacements(section: Replacements) -> None:
    """Raise if the replacements of a profile cannot be made; nothing is asked.

    Raises
    ------
    ConfigError
        `generate` without a model, an unknown one, one that takes no pictures, a limit of costs for a model without
        a price, or a template of params/prompts with an unknown placeholder.
    ModelError
        The model's key is missing or damaged.
    """
    if section.kind != "generate":
        return
    if section.model is None:
        raise ConfigError(
            "replacements.kind is 'generate', which needs a model to write them: add "
            "--set replacements.model=NAME (`signpost models` lists the names; `writer` needs no key)"
        )
    from signpost_kit.models.keys import find_key
    from signpost_kit.models.registry import model_spec
    from signpost_kit.replacements.questions import Questions

    Questions.load(proposed=section.spans == "model", varied=section.varied, seed=section.seed)
    spec = model_spec(section.model)
    if spec is None:
        return
    if spec.provider == "embedded" and section.model != "writer":
        raise ConfigError(
            f"replacements.model is {section.model!r}, an offline model that guesses places; the offline one that "
            "writes is 'writer'"
        )
    if spec.image.max_images == 0:
        raise ConfigError(f"replacements.model is {section.model!r}, which takes no pictures: choose another")
    if section.max_cost_usd is not None and spec.price is None:
        raise ConfigError(
            f"replacements.max_cost_usd cannot be kept: the price of {section.model} is unknown. Fill in "
            f"{spec.price_line}, or leave out the limit"
        )
    if spec.key_env:
        find_key(spec.key_env)
