"""The graph, its check against /object_info, addresses and instructions: everything before the first job."""

from __future__ import annotations

import copy
import math
import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "comfy_server"))

from comfy_nodes import MODELS, object_info

from signpost_kit import prompts
from signpost_kit.benchmark import Span
from signpost_kit.editing.comfyui.address import parse_address
from signpost_kit.editing.comfyui.graph import CHECKPOINTS, Recipe, build_graph, workflow_hash, working_size
from signpost_kit.editing.comfyui.validate import check_graph, choices_of, fit_recipe
from signpost_kit.editing.comfyui.wording import instruct, where_in_words
from signpost_kit.errors import ConfigError

ENCODINGS = pytest.mark.parametrize("encoding", ["lists", "combo"])


def encoder_size(width: int, height: int) -> tuple[int, int]:
    """What TextEncodeQwenImageEditPlus scales a picture to before it goes through the VAE (ComfyUI 0.27.0)."""
    scale = math.sqrt(1024 * 1024 / (width * height))
    return round(width * scale / 8.0) * 8, round(height * scale / 8.0) * 8


def graph_of(recipe: Recipe | None = None, **changes):
    given = {"image": "a (1).png", "size": (1184, 888), "prompt": "p", "seed": 7, "filename_prefix": "signpost/x"}
    return build_graph(recipe or Recipe(), **(given | changes))


def one(graph, kind: str):
    (node,) = [node for node in graph.values() if node["class_type"] == kind]
    return node["inputs"]


def test_the_working_size_is_one_that_the_encoder_leaves_alone():
    rng = random.Random(5)
    once_is_not_enough = 0
    for _ in range(3000):
        width, height = rng.randint(200, 6000), rng.randint(200, 6000)
        size = working_size(width, height)
        assert encoder_size(*size) == size, (width, height)
        once_is_not_enough += encoder_size(*encoder_size(width, height)) != encoder_size(width, height)
        if 0.25 < width / height < 4:
            assert abs(size[0] / size[1] / (width / height) - 1) < 0.015
            assert abs(size[0] * size[1] / 1024**2 - 1) < 0.03
    assert once_is_not_enough > 500  # or the search for a stable size would be idle


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ((1024, 768), (1184, 888)),
        ((768, 1024), (888, 1184)),
        ((1920, 1080), (1368, 768)),
        ((100, 100), (1024, 1024)),
    ],
)
def test_working_sizes_by_hand(given, wanted):
    # sqrt(1048576 / (1024 * 768)) = 1.1547: 1182.4 x 886.8 -> 1184 x 888, and so on.
    assert working_size(*given) == wanted


def test_the_graph_is_the_one_of_the_study():
    graph = graph_of()
    assert one(graph, "ImageScale") == {
        "image": [next(k for k, v in graph.items() if v["class_type"] == "LoadImage"), 0],
        "upscale_method": "lanczos",
        "width": 1184,
        "height": 888,
        "crop": "disabled",
    }
    sampler = one(graph, "KSampler")
    assert {k: sampler[k] for k in ("steps", "cfg", "sampler_name", "scheduler", "denoise", "seed")} == {
        "steps": 4,
        "cfg": 1.0,
        "sampler_name": "euler",
        "scheduler": "simple",
        "denoise": 1.0,
        "seed": 7,
    }
    chain = []
    node_id = sampler["model"][0]
    while True:
        node = graph[node_id]
        chain.append(node["class_type"])
        if node["class_type"] == "UNETLoader":
            break
        node_id = node["inputs"]["model"][0]
    assert chain == ["CFGNorm", "ModelSamplingAuraFlow", "LoraLoaderModelOnly", "UNETLoader"]
    assert one(graph, "ModelSamplingAuraFlow")["shift"] == 3.0
    assert one(graph, "CFGNorm")["strength"] == one(graph, "LoraLoaderModelOnly")["strength_model"] == 1.0
    texts = [graph[sampler[name][0]]["inputs"]["prompt"] for name in ("positive", "negative")]
    assert texts == ["p", ""]
    scaled = graph[sampler["positive"][0]]["inputs"]["image1"]
    assert scaled == graph[sampler["negative"][0]]["inputs"]["image1"] == one(graph, "VAEEncode")["pixels"]
    assert graph[scaled[0]]["class_type"] == "ImageScale"
    assert one(graph, "CLIPLoader")["type"] == "qwen_image"
    assert one(graph, "SaveImage")["filename_prefix"] == "signpost/x"


def test_twenty_steps_go_without_the_lightning_lora():
    graph = graph_of(Recipe(steps=20, cfg=4.0))
    assert not any(node["class_type"] == "LoraLoaderModelOnly" for node in graph.values())
    assert (one(graph, "KSampler")["steps"], one(graph, "KSampler")["cfg"]) == (20, 4.0)
    assert any(
        n["class_type"] == "LoraLoaderModelOnly" for n in graph_of(Recipe(steps=20, lightning=True)).values()
    )


def test_the_workflow_hash_tells_settings_apart_and_pictures_not():
    hashes = {workflow_hash(r) for r in (Recipe(), Recipe(steps=20), Recipe(cfg=2.0), Recipe(files={"vae": "x"}))}
    assert len(hashes) == 4
    assert workflow_hash(Recipe()) == workflow_hash(Recipe(steps=4, cfg=1.0))


@ENCODINGS
def test_a_complete_server_has_nothing_to_complain_of(encoding):
    info = object_info(MODELS, encoding=encoding)
    assert check_graph(graph_of(), info) == []
    assert fit_recipe(Recipe(), info, server="s").file("unet") == CHECKPOINTS["unet"]


@ENCODINGS
def test_each_missing_model_is_named_with_its_folder(encoding):
    info = object_info({kind: [] for kind in MODELS}, encoding=encoding)
    with pytest.raises(ConfigError) as caught:
        fit_recipe(Recipe(), info, server="http://127.0.0.1:1")
    lines = str(caught.value).splitlines()
    assert "http://127.0.0.1:1" in lines[0] and len(lines) == 5
    for part, folder in (
        ("unet", "models/diffusion_models"),
        ("clip", "models/text_encoders"),
        ("vae", "models/vae"),
        ("lora", "models/loras"),
    ):
        assert any(CHECKPOINTS[part] in line and folder in line for line in lines[1:])
    # Without the LoRA its file is not needed.
    with pytest.raises(ConfigError) as caught:
        fit_recipe(Recipe(steps=20), info, server="s")
    assert "loras" not in str(caught.value)


@ENCODINGS
@pytest.mark.parametrize("name", ["Qwen/qwen_image_vae.safetensors", "Qwen\\Qwen_Image_VAE.safetensors"])
def test_a_model_in_a_folder_of_its_own_is_found(encoding, name):
    info = object_info(MODELS | {"vae": ["ae.safetensors", name]}, encoding=encoding)
    assert fit_recipe(Recipe(), info, server="s").file("vae") == name


@ENCODINGS
def test_faults_of_a_graph_are_found(encoding):
    info = object_info(MODELS, encoding=encoding)
    del info["CFGNorm"]
    del info["ImageScale"]["input"]["required"]["crop"]
    info["VAEEncode"]["input"]["required"]["tile"] = ["INT", {"min": 1}]
    info["KSampler"]["input"]["required"]["steps"][1]["max"] = 3
    info["CLIPLoader"]["input"]["required"]["type"] = [["sd3"], {}]
    info["VAELoader"]["output"] = ["CLIP"]
    problems = "\n".join(check_graph(graph_of(), info))
    for words in (
        "CFGNorm is missing",
        "no input 'crop'",
        "'tile'",
        "steps from",
        "'qwen_image'",
        "takes VAE, but",
    ):
        assert words in problems
    # The joker and several types in one fit.
    info = object_info(MODELS, encoding=encoding)
    info["SaveImage"]["input"]["required"]["images"] = ["IMAGE,MASK"]
    info["VAEDecode"]["input"]["required"]["samples"] = ["*"]
    info["ImageScale"]["output"] = ["COMFY_MATCHTYPE_V3"]
    assert check_graph(graph_of(), info) == []


def test_an_input_that_a_newer_server_asks_for_gets_its_default():
    info = copy.deepcopy(object_info(MODELS, encoding="combo"))
    info["CFGNorm"]["input"]["required"]["pre_cfg"] = ["BOOLEAN", {"default": False}]
    fitted = fit_recipe(Recipe(), info, server="s")
    assert one(graph_of(fitted), "CFGNorm")["pre_cfg"] is False
    assert "pre_cfg" not in one(graph_of(), "CFGNorm")


def test_choices_in_both_encodings():
    assert choices_of([["a", "b"], {}]) == choices_of(["COMBO", {"options": ["a", "b"]}]) == ["a", "b"]
    assert choices_of(["COMBO", {"remote": {}}]) is choices_of(["INT", {"min": 0}]) is choices_of([]) is None


def test_plain_http_goes_to_this_machine_only():
    for text in (
        "http://127.0.0.1:8188",
        "http://localhost:8188/",
        "http://[::1]:8188",
        "https://gpu.example.org/c",
    ):
        assert parse_address(text).base == text.rstrip("/")
    assert parse_address("https://h/c").socket("id") == "wss://h/c/ws?clientId=id"
    assert parse_address("http://localhost:8188").socket("id") == "ws://localhost:8188/ws?clientId=id"
    for text in (
        "http://192.168.1.5:8188",
        "http://gpu:8188",
        "http://127.0.0.1.evil.org",
        "http://localhost.evil.org",
    ):
        with pytest.raises(ConfigError, match="allow_remote_http"):
            parse_address(text)
        assert not parse_address(text, allow_remote_http=True).loopback
    for text in (
        "127.0.0.1:8188",
        "ftp://h",
        "http://",
        "http://u:secret@127.0.0.1",
        "http://127.0.0.1:99999",
        "a b",
    ):
        with pytest.raises(ConfigError) as caught:
            parse_address(text, allow_remote_http=True)
        assert "secret" not in str(caught.value)


def test_instructions_name_texts_places_and_new_texts():
    spans = [
        Span("KYOTO", ((0, 0), (30, 0), (30, 20), (0, 20)), replacements={"random": "Zürich"}),
        Span('a "b"\nc', location="on the blue plate", replacements={"random": " "}),
    ]
    blank = instruct(spans, "Blank", width=300, height=200)
    assert blank.template == "removal" and blank.template_hash == prompts.load("removal").hash
    assert '"KYOTO", at the top left' in blank.text and '"a ”b” c", on the blue plate' in blank.text
    assert "Zürich" not in blank.text and "{" not in blank.text
    filled = instruct(spans, "Random", width=300, height=200)
    assert filled.template == "replacement"
    assert '"KYOTO", at the top left, become "Zürich"' in filled.text
    assert "on the blue plate, disappear" in filled.text
    assert where_in_words((), 300, 200) == ""
    assert where_in_words(((150, 190),), 300, 200) == "at the bottom centre"


def test_a_users_own_template_is_used_and_its_faults_are_told(tmp_path, monkeypatch):
    folder = tmp_path / "params" / "prompts"
    folder.mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    (folder / "removal.md").write_text("Erase {% for s in spans %}{{ s.text }};{% endfor %}")
    assert instruct([Span("A"), Span("B")], "Blank", width=9, height=9).text == "Erase A;B;"
    for bad in ("{{ span.text }}", "{% for %}", "{{ spans.__class__.__mro__ }}"):
        (folder / "removal.md").write_text(bad)
        with pytest.raises(ConfigError, match=r"removal\.md"):
            instruct([Span("A")], "Blank", width=9, height=9)
