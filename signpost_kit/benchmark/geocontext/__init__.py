"""The released files of GeoContext: read, joined, and every row that was left out or is ambiguous counted."""

from signpost_kit.benchmark.geocontext.account import Account
from signpost_kit.benchmark.geocontext.answers import join_answers
from signpost_kit.benchmark.geocontext.released import Released, read_released
from signpost_kit.benchmark.geocontext.trials import join_trials

__all__ = ["Account", "Released", "join_answers", "join_trials", "read_released"]
