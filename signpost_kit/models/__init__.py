"""Models: what a provider is, the offline ones, and the registry that finds them by name."""

from signpost_kit.models.base import Answer, Decoding, Provider, ProviderError, Request, Usage
from signpost_kit.models.registry import get_model, model_names, register

__all__ = [
    "Answer",
    "Decoding",
    "Provider",
    "ProviderError",
    "Request",
    "Usage",
    "get_model",
    "model_names",
    "register",
]
