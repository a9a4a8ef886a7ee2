"""The synthesis stage with the ComfyUI editor on a loopback stand-in: dispatch, checks, marks, resuming."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "comfy_server"))

from comfy_stand_in import ComfyServer

from signpost_kit.frames import EDITED_VARIANTS
from signpost_kit.run import open_run


@pytest.mark.parametrize("scheduler", ["threads", "serial"])
def test_the_stage_asks_the_server_and_marks_what_did_not_pass(tmp_path, project, scheduler):
    with ComfyServer(painter=lambda image, prompt, seed: image) as server:  # a model that does nothing
        sets = [
            "source.n=2",
            "editing.editor=comfyui",
            f"editing.servers=[{server.url}]",
            "editing.attempts=2",
            f"compute.scheduler={scheduler}",
        ]
        run = open_run("tiny", str(tmp_path / "run"), sets=sets)
        run.ensure("synthesis")
        counts = run.stage_record("synthesis")["counts"]
        assert counts["groups"] == 2 and counts["rejected"] == 0
        assert counts["edits marked"] >= 4 and counts["edits made again"] == counts["edits marked"]
        asked = len(server.ran)
        assert asked == 8 + counts["edits made again"]
        for group in run.benchmark().groups:
            for variant in EDITED_VARIANTS:
                record = group.generation[variant]
                assert record["editor"] == "comfyui" and run.benchmark().image_path(group, variant).is_file()
                assert record["checks"]["outside"]["ssim"] > 0.75
            reasons = group.generation["Adversarial"]["checks"]["reasons"]
            assert any("not read" in reason or "still read" in reason for reason in reasons)
        (run.dir / "stages" / "synthesis.json").unlink()
        run.ensure("synthesis")
        assert len(server.ran) == asked  # nothing is asked for twice
