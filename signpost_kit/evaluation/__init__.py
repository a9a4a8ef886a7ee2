"""Evaluation: what to ask, asking it once, and keeping every reply."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from signpost_kit.evaluation.batch_options import BatchOptions
    from signpost_kit.evaluation.plan import MissingPicture, Plan, make_plan
    from signpost_kit.evaluation.reply import Reply
    from signpost_kit.evaluation.runner import ask_plan, evaluate
    from signpost_kit.evaluation.store import ReplyStore
    from signpost_kit.evaluation.summary import EvaluationSummary
    from signpost_kit.evaluation.tasks import Parsed, register_task, task_names

__all__ = [
    "BatchOptions",
    "EvaluationSummary",
    "MissingPicture",
    "Parsed",
    "Plan",
    "Reply",
    "ReplyStore",
    "ask_plan",
    "evaluate",
    "make_plan",
    "register_task",
    "task_names",
]

# Loaded when first used: whoever only reads a store needs no event loop.
_HOMES = {
    "batch_options": ("BatchOptions",),
    "plan": ("MissingPicture", "Plan", "make_plan"),
    "reply": ("Reply",),
    "runner": ("ask_plan", "evaluate"),
    "store": ("ReplyStore",),
    "summary": ("EvaluationSummary",),
    "tasks": ("Parsed", "register_task", "task_names"),
}


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
