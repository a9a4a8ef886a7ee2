"""`signpost audit`: what is typed reaches the functions, and a fault is one line."""

from __future__ import annotations

from types import SimpleNamespace

import typer
from typer.testing import CliRunner

from signpost_kit import cli_audit
from signpost_kit.errors import SignpostError


def commands() -> typer.Typer:
    def guarded(command):
        import functools

        @functools.wraps(command)
        def call(*args, **kwargs):
            try:
                command(*args, **kwargs)
            except SignpostError as error:
                print(f"error: {error}")
                raise typer.Exit(2) from None

        return call

    app = typer.Typer()
    app.add_typer(
        cli_audit.audit_app(guarded, lambda profile, sets, run_dir: SimpleNamespace(name=profile)), name="audit"
    )
    return app


def test_sheets(monkeypatch):
    seen = {}
    monkeypatch.setattr(cli_audit, "make_sheets", lambda run, **more: seen.update(more, run=run.name))
    done = CliRunner().invoke(
        commands(),
        ["audit", "sheets", "demo", "--tiers", "3,4,5", "--edits", "6", "--seed", "1", "--only", "edits"],
    )
    assert done.exit_code == 0, done.output
    assert seen == {"run": "demo", "quotas": [3, 4, 5], "edits": 6, "annotators": 2, "seed": 1, "only": "edits"}
    wrong = CliRunner().invoke(commands(), ["audit", "sheets", "demo", "--tiers", "3,x"])
    assert wrong.exit_code == 2 and "three whole numbers" in wrong.output


def test_read(monkeypatch):
    seen = {}
    monkeypatch.setattr(cli_audit, "take_sheets", lambda run, files, **more: seen.update(more, files=files))
    done = CliRunner().invoke(commands(), ["audit", "read", "demo", "a.csv", "b.csv", "--partial"])
    assert done.exit_code == 0 and seen == {"files": ["a.csv", "b.csv"], "partial": True}
