"""Errors a user can meet. Each message says what was wrong, with which value, what is allowed, and what to do.

The command line and the notebooks' driver print the message of a :class:`SignpostError` as one line and no
traceback; anything else that escapes is a fault of ours.
"""

from __future__ import annotations

__all__ = ["ConfigError", "DataError", "MissingExtraError", "ModelError", "SignpostError", "StorageError"]


class SignpostError(Exception):
    """Base of every error that a user's input, files, keys or machine can cause."""


class ConfigError(SignpostError):
    """A profile, parameter, model or notebook name is wrong."""


class DataError(SignpostError):
    """A photo, table, benchmark or reply file is missing, malformed or empty."""


class StorageError(SignpostError):
    """A folder cannot be written, a disk is full, a store is damaged."""


class ModelError(SignpostError):
    """A model cannot be asked at all: unknown name, wrong key, wrong address."""


class MissingExtraError(SignpostError):
    """An optional dependency is needed; the message names the feature and the extra that brings it."""
