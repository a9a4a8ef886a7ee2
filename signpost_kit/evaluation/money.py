"""The money side of one evaluation: whose prices are known, the limit, the estimate before and the truth after."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from signpost_kit.errors import ConfigError
from signpost_kit.evaluation.budget import Budget
from signpost_kit.evaluation.cost import against_actual, estimate_rows, highest_price
from signpost_kit.models.base import Provider, Request

if TYPE_CHECKING:
    from signpost_kit.evaluation.progress import Tally
    from signpost_kit.evaluation.store import ReplyStore
    from signpost_kit.models.catalogue import ModelSpec

__all__ = ["Money"]


class Money:
    """Prices and limit of one call of `evaluate`.

    Parameters
    ----------
    specs
        Model -> its facts; None: what each provider brings along, else params/models.yml.
    most_usd
        The limit, or None.
    by_name
        Whether the models are those of params/models.yml; else only what a provider brings along counts.
    """

    def __init__(self, specs: Mapping[str, ModelSpec] | None, most_usd: float | None, *, by_name: bool) -> None:
        self.most_usd = most_usd
        self.specs: dict[str, ModelSpec] = dict(specs or {})
        self._given, self._by_name = specs is not None, by_name
        self._estimate: list[dict[str, Any]] = []

    def look_up(self, providers: Mapping[str, Provider]) -> None:
        """Find what is known of each model; with a limit, each must have a price.

        Raises
        ------
        ConfigError
            There is a limit, and a model's price is unknown; the line to fill in is named.
        """
        if not self._given:
            self.specs = _brought(providers)
            if self._by_name and len(self.specs) < len(providers):
                self.specs = {**_listed(providers), **self.specs}
        if self.most_usd is None:
            return
        for model in providers:
            spec = self.specs.get(model)
            if spec is None or spec.price is None:
                where = f"fill in {spec.price_line}" if spec else "it is not in params/models.yml"
                raise ConfigError(
                    f"the price of {model} is unknown, so a limit of ${self.most_usd:g} cannot be kept: {where}, "
                    "or leave out the limit"
                )

    def estimate(self, requests: Sequence[Request], store: ReplyStore, retry: Collection[str]) -> None:
        """Keep an estimate for the priced models, to be compared later."""
        prices = {model: spec.price for model, spec in self.specs.items() if spec.price}
        priced = {model for model, price in prices.items() if price.input or price.output}
        wanted = [request for request in requests if request.model in priced]
        if wanted:
            self._estimate = estimate_rows(wanted, self.specs, store, retry=retry)

    def budget(self) -> Budget | None:
        """The limit, if there is one."""
        return None if self.most_usd is None else Budget(self.most_usd, highest_price(self.specs))

    def against_actual(self, tally: Tally) -> tuple[dict[str, Any], ...]:
        """The estimate beside what was spent, per priced model."""
        spent = {model: usd for model, (usd, _) in tally.spent.items()}
        asked = {model: int(n) for model, (_, n) in tally.spent.items()}
        return tuple(against_actual(self._estimate, spent, asked))


def _brought(providers: Mapping[str, Provider]) -> dict[str, ModelSpec]:
    found = {model: getattr(provider, "spec", None) for model, provider in providers.items()}
    if not any(found.values()):
        return {}
    from signpost_kit.models.catalogue import ModelSpec

    return {model: spec for model, spec in found.items() if isinstance(spec, ModelSpec)}


def _listed(models: Iterable[str]) -> dict[str, ModelSpec]:
    from signpost_kit.models.catalogue import load_catalogue

    listed = load_catalogue()
    return {model: listed[model] for model in models if model in listed}
