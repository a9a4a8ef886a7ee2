"""What the teaching set is for: who follows the signs has to come out of what each model learned from.

Run on the real chain (drawn streets, replacement texts, painted signs, OCR, words, parsing), with nothing about the
result written into the models.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import numpy as np
import pytest

from signpost_kit import prompts, taxonomy
from signpost_kit.benchmark import Benchmark, town
from signpost_kit.editing import paint
from signpost_kit.geo import haversine_km
from signpost_kit.metrics import wla
from signpost_kit.models import Request, get_model
from signpost_kit.models.embedded import prepare
from signpost_kit.parsing import parse_coordinates
from signpost_kit.replacements import gazetteer

MODELS = ("reader", "looker", "aligned", "hardened")
VARIANTS = ("Original", "Blank", "Adversarial")


def conflicting_set(folder: Path, n: int, seed: int) -> Benchmark:
    bench = town.build(n, seed, out_dir=folder)
    groups = []
    for drawn in bench.groups:
        group = gazetteer.targets(gazetteer.propose(taxonomy.classify_group(drawn)))
        groups.append(paint.make_variants(bench, group, variants=VARIANTS[1:]))
    return bench.with_groups([g for g in groups if g.trap is not None and set(VARIANTS) <= set(g.images)])


def predict(bench: Benchmark, model: str, variant: str) -> np.ndarray:
    prompt, provider = prompts.load("coordinate"), get_model(model)

    async def all_of_them() -> list[str | None]:
        paths = [bench.image_path(group, variant) for group in bench.groups]
        asked = [Request("coordinate", model, p, "", prompt.text, prompt.hash) for p in paths]
        return [answer.text for answer in await asyncio.gather(*map(provider.ask, asked))]

    found = [parse_coordinates(text) for text in asyncio.run(all_of_them())]
    assert all(c.status == "ok" for c in found)
    return np.array([(c.lat, c.lon) for c in found])


@pytest.mark.slow
def test_trust_in_signs_comes_out_of_what_was_learned(tmp_path: Path) -> None:
    prepare(MODELS)
    bench = conflicting_set(tmp_path, n=40, seed=2026)
    assert len(bench) >= 36
    truth = np.array([(g.lat, g.lon) for g in bench.groups])
    trap = np.array([(g.trap.lat, g.trap.lon) for g in bench.groups if g.trap])
    spots = {(m, v): predict(bench, m, v) for m in MODELS for v in VARIANTS}
    trapped = {m: float(np.mean(haversine_km(*spots[m, "Adversarial"].T, *trap.T) < 50)) for m in MODELS}
    credit = {key: float(np.mean(wla(haversine_km(*found.T, *truth.T)))) for key, found in spots.items()}
    facts = f"trap-fit rate {trapped}, WLA {credit}"
    # Two scenes of forty apart, so that a tie decided by one picture does not count.
    assert trapped["reader"] >= trapped["aligned"] + 0.05, facts
    assert trapped["aligned"] >= trapped["hardened"] + 0.25, facts
    assert trapped["looker"] <= trapped["hardened"], facts
    assert trapped["looker"] <= 0.05, facts
    assert credit["aligned", "Original"] >= credit["aligned", "Blank"] + 0.05, facts
    assert credit["aligned", "Blank"] >= credit["aligned", "Adversarial"] + 0.2, facts
    # Reading helps where signs tell the truth, and hardening costs little there.
    assert credit["hardened", "Original"] > credit["looker", "Original"] + 0.05, facts
