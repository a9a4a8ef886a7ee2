"""The Qwen-Image-Edit-2509 graph, built in code: one picture and one instruction in, one picture out."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import Any

from signpost_kit.errors import ConfigError
from signpost_kit.files import hash_bytes

__all__ = [
    "CHECKPOINTS",
    "INPUT_NODES",
    "LIGHTNING_STEPS",
    "MODEL_FOLDERS",
    "OUTPUT_NODE",
    "Recipe",
    "build_graph",
    "fits",
    "workflow_hash",
    "working_size",
]

_AREA = 1024 * 1024  # pixels that the edit model's encoder scales every picture to
_STEP = 8  # and the multiple that it rounds both sides to
_LONGEST = 16384  # pixels per side that ImageScale takes
LIGHTNING_STEPS = 8
"""Up to so many steps the Lightning LoRA, which is made for few steps, is loaded."""

CHECKPOINTS: dict[str, str] = {
    "unet": "qwen_image_edit_2509_fp8_e4m3fn.safetensors",
    "clip": "qwen_2.5_vl_7b_fp8_scaled.safetensors",
    "vae": "qwen_image_vae.safetensors",
    "lora": "Qwen-Image-Edit-2509-Lightning-4steps-V1.0-bf16.safetensors",
}
"""The model files of the study, by the part they play."""

MODEL_FOLDERS: dict[tuple[str, str], str] = {
    ("UNETLoader", "unet_name"): "models/diffusion_models",
    ("CLIPLoader", "clip_name"): "models/text_encoders",
    ("VAELoader", "vae_name"): "models/vae",
    ("LoraLoaderModelOnly", "lora_name"): "models/loras",
}
"""(node class, input) -> the folder of the ComfyUI installation that the file belongs in."""

# Ids are numbers, as from ComfyUI's own editor: extensions of servers have been seen to expect that.
_LOAD, _SCALE, _UNET, _CLIP, _VAE, _LORA, _SHIFT, _NORM, _POSITIVE, _NEGATIVE, _LATENT, _SAMPLER, _DECODE, _SAVE = (
    map(str, range(1, 15))
)
INPUT_NODES = (_LOAD,)
"""Nodes whose errors are about one picture."""
OUTPUT_NODE = _SAVE
"""The node whose picture is the result."""


@dataclass(frozen=True)
class Recipe:
    """What all edits of a run have in common."""

    steps: int = 4
    cfg: float = 1.0
    lightning: bool | None = None
    """Load the Lightning LoRA; None: with at most :data:`LIGHTNING_STEPS` steps."""
    files: dict[str, str] = field(default_factory=dict)
    """Model files that are used instead of those in :data:`CHECKPOINTS`; keys unet, clip, vae, lora."""
    defaults: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Node class -> inputs that a newer server asks for as well, with the values that it gives them itself."""

    def __post_init__(self) -> None:
        for part in self.files:
            if part not in CHECKPOINTS:
                raise ConfigError(f"editing.checkpoints: unknown part {part!r}; allowed: {', '.join(CHECKPOINTS)}")

    @property
    def with_lora(self) -> bool:
        """Whether the graph has the LoRA."""
        return self.steps <= LIGHTNING_STEPS if self.lightning is None else self.lightning

    def file(self, part: str) -> str:
        """The model file that plays a part."""
        return self.files.get(part, CHECKPOINTS[part])


def working_size(width: int, height: int) -> tuple[int, int]:
    """The size (width, height) that a picture is edited in: about 1024 x 1024 pixels, multiples of 8.

    The model's encoder scales what it gets to 1024^2 pixels in multiples of 8. Done once by hand, a quarter of all
    sizes would be scaled to yet another size by the encoder, and the edit would shift against the picture. So this
    is a size that the encoder leaves alone, if need be a neighbour with nearly the picture's own proportions.
    """
    if width < 1 or height < 1:
        raise ValueError(f"a picture has at least one pixel, got {width} x {height}")
    first = _encoder_size(width, height)
    if _encoder_size(*first) == first:
        return first
    near = [
        (first[0] + _STEP * dx, first[1] + _STEP * dy)
        for dx in range(-3, 4)
        for dy in range(-3, 4)
        if first[0] + _STEP * dx >= _STEP and first[1] + _STEP * dy >= _STEP
    ]
    stable = [size for size in near if _encoder_size(*size) == size]
    if stable:
        return min(stable, key=lambda size: (abs(math.log(size[0] * height / (size[1] * width))), size))
    for _ in range(64):  # very long pictures: follow the encoder until it comes to rest
        then = _encoder_size(*first)
        if then == first:
            break
        first = then
    return first


def _encoder_size(width: int, height: int) -> tuple[int, int]:
    scale = math.sqrt(_AREA / (width * height))
    return max(_STEP, round(width * scale / _STEP) * _STEP), max(_STEP, round(height * scale / _STEP) * _STEP)


def fits(size: tuple[int, int]) -> bool:
    """Whether the server's nodes take a picture of that working size."""
    return max(size) <= _LONGEST


def build_graph(
    recipe: Recipe, *, image: str, size: tuple[int, int], prompt: str, seed: int, filename_prefix: str
) -> dict[str, Any]:
    """The graph of one edit, as POST /prompt takes it.

    Parameters
    ----------
    image
        The uploaded picture's name, as the server answered it.
    size
        Of :func:`working_size`.
    prompt
        The instruction.
    seed
        0 .. 2^64 - 1.
    filename_prefix
        Unique for the job, so that no two jobs share an output.
    """
    model = [_UNET, 0]
    nodes: dict[str, Any] = {
        _LOAD: _node("LoadImage", image=image),
        _SCALE: _node(
            "ImageScale",
            image=[_LOAD, 0],
            upscale_method="lanczos",
            width=size[0],
            height=size[1],
            crop="disabled",
        ),
        _UNET: _node("UNETLoader", unet_name=recipe.file("unet"), weight_dtype="default"),
        _CLIP: _node("CLIPLoader", clip_name=recipe.file("clip"), type="qwen_image"),
        _VAE: _node("VAELoader", vae_name=recipe.file("vae")),
    }
    if recipe.with_lora:
        nodes[_LORA] = _node("LoraLoaderModelOnly", model=model, lora_name=recipe.file("lora"), strength_model=1.0)
        model = [_LORA, 0]
    encoder = {"clip": [_CLIP, 0], "vae": [_VAE, 0], "image1": [_SCALE, 0]}
    nodes |= {
        _SHIFT: _node("ModelSamplingAuraFlow", model=model, shift=3.0),
        _NORM: _node("CFGNorm", model=[_SHIFT, 0], strength=1.0),
        _POSITIVE: _node("TextEncodeQwenImageEditPlus", **encoder, prompt=prompt),
        _NEGATIVE: _node("TextEncodeQwenImageEditPlus", **encoder, prompt=""),
        _LATENT: _node("VAEEncode", pixels=[_SCALE, 0], vae=[_VAE, 0]),
        _SAMPLER: _node(
            "KSampler",
            model=[_NORM, 0],
            positive=[_POSITIVE, 0],
            negative=[_NEGATIVE, 0],
            latent_image=[_LATENT, 0],
            seed=seed,
            steps=recipe.steps,
            cfg=recipe.cfg,
            sampler_name="euler",
            scheduler="simple",
            denoise=1.0,
        ),
        _DECODE: _node("VAEDecode", samples=[_SAMPLER, 0], vae=[_VAE, 0]),
        _SAVE: _node("SaveImage", images=[_DECODE, 0], filename_prefix=filename_prefix),
    }
    for node in nodes.values():
        node["inputs"] = recipe.defaults.get(node["class_type"], {}) | node["inputs"]
    return nodes


def workflow_hash(recipe: Recipe) -> str:
    """Names the graph of a run: the same for all its pictures, another one when models or settings change."""
    blank = build_graph(recipe, image="", size=(0, 0), prompt="", seed=0, filename_prefix="")
    return hash_bytes(json.dumps(blank, sort_keys=True).encode())


def _node(class_type: str, **inputs: Any) -> dict[str, Any]:
    return {"class_type": class_type, "inputs": inputs}
