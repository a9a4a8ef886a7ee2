"""params/models.yml as it is committed, and models found by name through it."""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from pathlib import Path

import pytest

from signpost_kit.errors import ConfigError, ModelError
from signpost_kit.evaluation.image_tokens import image_tokens
from signpost_kit.models import get_model, keys, model_names, register, registry
from signpost_kit.models.catalogue import ModelSpec, load_catalogue
from signpost_kit.models.scripted import ScriptedProvider
from signpost_kit.strict_yaml import read_yaml

KEY = "sk-Abc123def456ghi789-XYZ"
KEYS = {
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "GEMINI_API_KEY",
    "DASHSCOPE_API_KEY",
    "MOONSHOT_API_KEY",
    "ARK_API_KEY",
    "XAI_API_KEY",
    "OPENROUTER_API_KEY",
}
OLLAMA = """\
models:
  llava:
    provider: compatible
    model_id: llava:13b
    base_url: http://localhost:11434/v1
    price: free
"""
VLLM = """\
models:
  qwen3-vl-local:
    provider: compatible
    model_id: Qwen/Qwen3-VL-8B-Instruct
    base_url: http://gpu-box:8000/v1
    key_env: VLLM_API_KEY
"""


@pytest.fixture(scope="module")
def catalogue(project: Path) -> dict[str, ModelSpec]:
    return load_catalogue(project)


def _rows(shared_data: Path, study: str) -> list[dict[str, str]]:
    with (shared_data.parent / "published" / study / "models.csv").open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


def test_every_model_of_signpost_bench_is_there(shared_data: Path, catalogue) -> None:
    rows = _rows(shared_data, "signpost")
    assert len(rows) == 20
    for row in rows:
        spec = catalogue[row["api_identifier"]]
        assert spec.model_id == row["api_identifier"]
        assert (spec.title, spec.group) == (row["model"], row["provider"])
    assert sum("signpost" in spec.studies for spec in catalogue.values()) == 20


def test_every_model_of_geocontext_and_its_auditors_are_there(shared_data: Path, catalogue) -> None:
    rows = _rows(shared_data, "geocontext")
    assert len(rows) == 7
    pools = {"Anthropic (low effort)": "anthropic", "Anthropic": "anthropic", "Google": "google"}
    for row in rows:
        spec = catalogue[row["model"]]
        assert spec.model_id == row["api_identifier"]
        assert spec.pool == pools.get(row["route"], row["route"].lower())
    assert {name for name, spec in catalogue.items() if "geocontext" in spec.studies} == {r["model"] for r in rows}
    assert catalogue["claude-opus-5"].options == {"output_config": {"effort": "low"}}
    assert not catalogue["deepseek-v4-pro"].reads_images
    assert catalogue["deepseek-vision"].reads_images


def test_what_each_entry_must_have(catalogue) -> None:
    paid = {name: spec for name, spec in catalogue.items() if spec.provider != "embedded"}
    assert len(paid) == 26
    assert {spec.key_env for spec in paid.values()} == KEYS
    for name, spec in paid.items():
        assert (spec.base_url is not None) == (spec.provider == "compatible"), name
        assert spec.context_tokens or spec.group == "ByteDance", name
        assert spec.image.max_base64_bytes <= 20_000_000, name
        image_tokens(spec.image_tokens)  # a rule of that name exists
        wanted = {"google": "max_output_tokens", "openai": "max_completion_tokens"}
        assert spec.token_field == wanted.get(spec.provider, "max_tokens"), name
    for name in ("gpt-5", "gpt-5.4", "claude-opus-5", "kimi-k2.5"):
        assert not paid[name].takes_temperature
    for name in ("gpt-4o", "claude-opus-4-6", "gemini-2.5-pro", "qwen3-vl-plus"):
        assert paid[name].takes_temperature


def test_every_price_says_who_and_when(project: Path, catalogue) -> None:
    data, _ = read_yaml(project / "params" / "models.yml")
    for name, spec in catalogue.items():
        if spec.provider == "embedded":
            assert spec.price is not None and spec.price.input == spec.price.output == 0
            continue
        assert "price" in data["models"][name], f"{name}: write `price: null` where it is unknown"
        if spec.price is not None:
            assert 0 < spec.price.input <= spec.price.output
            assert re.fullmatch(r"202[4-6]-\d\d(-\d\d)?", spec.price.date), name
            assert len(spec.price.source) > 8, name
            assert "http" not in spec.price.source
            assert spec.price.cached_input is None or spec.price.cached_input < spec.price.input
    unknown = {name for name, spec in catalogue.items() if spec.price is None}
    assert unknown == {
        "qwen3-vl-235b-a22b-instruct",
        "qwen3-vl-30b-a3b-instruct",
        "doubao-seed-2-0-pro-260215",
        "doubao-seed-2-0-lite-260215",
        "deepseek-v4-pro",
        "deepseek-vision",
        # Sources exist, but not both dated and of this very model at this provider.
        "qwen3-vl-plus",
        "qwen3-vl-235b",
        "qwen3-vl-8b",
        "gemini-3-flash",
    }


def test_models_of_one_route_share_a_pool(catalogue) -> None:
    pools = {spec.pool for spec in catalogue.values()}
    assert pools == {
        "embedded", "openai", "anthropic", "google", "dashscope", "moonshot", "ark", "xai", "openrouter"
    }  # fmt: skip
    assert {catalogue[name].pool for name in ("gpt-4o", "gpt-5.4")} == {"openai"}
    # The same maker by two routes: two accounts, two rate limits, one colour in the figures.
    assert catalogue["qwen3-vl-235b"].pool != catalogue["qwen3-vl-235b-a22b-instruct"].pool
    assert catalogue["qwen3-vl-235b"].group == catalogue["qwen3-vl-235b-a22b-instruct"].group == "Alibaba"


def _readme_snippets(project: Path) -> list[str]:
    blocks = re.findall(r"```ya?ml\n(.*?)```", (project / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    return [block for block in blocks if "provider: compatible" in block]


def test_a_user_adds_a_model_in_five_lines(tmp_path: Path, project: Path) -> None:
    (tmp_path / "params").mkdir()
    for text in (OLLAMA, VLLM, *_readme_snippets(project)):
        whole = text if text.lstrip().startswith(("models:", "#")) else f"models:\n{text}"
        (tmp_path / "params" / "models.yml").write_text(whole, encoding="utf-8")
        specs = list(load_catalogue(tmp_path).values())
        assert specs
        for spec in specs:
            assert spec.provider == "compatible"
            assert spec.reads_images and spec.takes_temperature
    for text, lines in ((OLLAMA, 5), (VLLM, 5)):
        assert len(text.splitlines()) - 1 == lines


def test_what_the_five_lines_mean(tmp_path: Path) -> None:
    (tmp_path / "params").mkdir()
    (tmp_path / "params" / "models.yml").write_text(OLLAMA + VLLM.removeprefix("models:\n"))
    found = load_catalogue(tmp_path)
    ollama, vllm = found["llava"], found["qwen3-vl-local"]
    assert (ollama.model_id, ollama.key_env, ollama.token_field) == ("llava:13b", None, "max_tokens")
    assert (ollama.group, ollama.pool) == ("local", "localhost:11434")
    assert (ollama.price.input, ollama.price.output) == (0, 0)
    assert (vllm.key_env, vllm.price, vllm.price_line) == (
        "VLLM_API_KEY", None, "params/models.yml: models.qwen3-vl-local.price"
    )  # fmt: skip


def test_the_file_is_read_again_when_it_changed(tmp_path: Path) -> None:
    path = tmp_path / "params" / "models.yml"
    path.parent.mkdir()
    path.write_text(OLLAMA)
    first = load_catalogue(tmp_path)
    first.clear()  # the caller's own
    assert set(load_catalogue(tmp_path)) == {"llava"}
    path.write_text(VLLM)
    assert set(load_catalogue(tmp_path)) == {"qwen3-vl-local"}
    path.unlink()
    assert "gpt-4o" not in load_catalogue(tmp_path)


# -- by name


@pytest.fixture
def own_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with two models, as the working directory; nothing registered by other tests."""
    (tmp_path / "params").mkdir()
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "params" / "models.yml").write_text(OLLAMA + VLLM.removeprefix("models:\n"))
    monkeypatch.chdir(tmp_path)
    model_names()  # the offline ones register themselves once
    monkeypatch.setattr(registry, "_FACTORIES", dict(registry._FACTORIES))
    monkeypatch.setattr(keys, "_known", set())
    monkeypatch.delenv("VLLM_API_KEY", raising=False)
    return tmp_path


def test_names_and_clients(own_project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert model_names()[-2:] == ("llava", "qwen3-vl-local")
    assert "prior" in model_names()
    assert (get_model("llava").name, get_model("prior").name) == ("localhost:11434", "embedded")
    with pytest.raises(ModelError, match="VLLM_API_KEY is not set"):
        get_model("qwen3-vl-local")
    monkeypatch.setenv("VLLM_API_KEY", f'"{KEY}"\n')
    client = get_model("qwen3-vl-local", http_timeout_s=7)
    assert client.name == "gpu-box:8000"
    assert KEY not in repr(client)
    assert client.http_timeout_s == 7  # type: ignore[attr-defined]


def test_a_registered_model_goes_before_the_file(own_project: Path) -> None:
    register("llava", lambda: ScriptedProvider("mine"))
    assert get_model("llava").name == "mine"
    assert model_names().count("llava") == 1


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("lava", "did you mean llava"),
        ("llava:13b", "did you mean llava"),  # the provider's own identifier
        ("Qwen/Qwen3-VL-8B-Instruct", "did you mean qwen3-vl-local"),
        ("QWEN3-VL-LOCAL", "did you mean qwen3-vl-local"),
        ("zzz", "known models: prior"),
    ],
)
def test_unknown_names(own_project: Path, name: str, words: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(f"unknown model {name!r}: ")) as caught:
        get_model(name)
    assert words in str(caught.value)


def test_a_studys_name_leads_to_ours(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    with pytest.raises(ConfigError, match=r"did you mean gemini-3\.1-pro-preview"):
        get_model("Gemini-3.1-Pro")
    with pytest.raises(ConfigError, match="did you mean gemini-flash"):
        get_model("gemini-3.6-flash")


def test_an_offline_entry_without_a_model(own_project: Path) -> None:
    (own_project / "params" / "models.yml").write_text("models:\n  mine: {provider: embedded}\n")
    with pytest.raises(ConfigError, match=r"models\.mine: there is no offline model of that name"):
        model_names()


def test_listing_models_imports_no_sdk(project: Path) -> None:
    code = (
        "import sys; import signpost_kit.models as m; m.model_names(); "
        "bad = {'openai', 'anthropic', 'google.genai', 'torch', 'cv2', 'matplotlib'} & set(sys.modules); "
        "assert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=project)
