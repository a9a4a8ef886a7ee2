"""The normal form of names; see :mod:`signpost_kit.normal_form`, which the word lists need too."""

from signpost_kit.normal_form import fold, is_unspaced, one_edit, unconfused, words

__all__ = ["fold", "is_unspaced", "one_edit", "unconfused", "words"]
