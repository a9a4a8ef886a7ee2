"""The stand-in's nodes: what /object_info says of them in either encoding, and what running them does to a picture."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

from PIL import Image, ImageDraw, ImageFilter

from signpost_kit.fonts import load_font

MODELS: dict[str, list[str]] = {
    "diffusion_models": ["flux1-dev.safetensors", "qwen_image_edit_2509_fp8_e4m3fn.safetensors"],
    "text_encoders": ["clip_l.safetensors", "qwen_2.5_vl_7b_fp8_scaled.safetensors"],
    "vae": ["ae.safetensors", "qwen_image_vae.safetensors"],
    "loras": ["Qwen-Image-Edit-2509-Lightning-4steps-V1.0-bf16.safetensors"],
}

Painter = Callable[[Image.Image, str, int], Image.Image]


def node_table(models: dict[str, list[str]]) -> dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]]:
    """Class -> (required inputs, optional inputs, outputs). A list is a choice; a tuple is (type, options)."""

    def number(low: float, high: float, default: float) -> tuple[str, dict[str, Any]]:
        kind = "FLOAT" if isinstance(default, float) else "INT"
        return kind, {"default": default, "min": low, "max": high}

    return {
        "LoadImage": ({"image": ["example.png"]}, {}, ["IMAGE", "MASK"]),
        "ImageScale": (
            {
                "image": ("IMAGE",),
                "upscale_method": ["nearest-exact", "bilinear", "area", "bicubic", "lanczos"],
                "width": number(0, 16384, 512),
                "height": number(0, 16384, 512),
                "crop": ["disabled", "center"],
            },
            {},
            ["IMAGE"],
        ),
        "UNETLoader": (
            {"unet_name": models["diffusion_models"], "weight_dtype": ["default", "fp8_e4m3fn"]},
            {},
            ["MODEL"],
        ),
        "CLIPLoader": (
            {"clip_name": models["text_encoders"], "type": ["stable_diffusion", "sd3", "qwen_image"]},
            {"device": ["default", "cpu"]},
            ["CLIP"],
        ),
        "VAELoader": ({"vae_name": models["vae"]}, {}, ["VAE"]),
        "LoraLoaderModelOnly": (
            {"model": ("MODEL",), "lora_name": models["loras"], "strength_model": number(-100.0, 100.0, 1.0)},
            {},
            ["MODEL"],
        ),
        "ModelSamplingAuraFlow": ({"model": ("MODEL",), "shift": number(0.0, 100.0, 1.73)}, {}, ["MODEL"]),
        "CFGNorm": ({"model": ("MODEL",), "strength": number(0.0, 100.0, 1.0)}, {}, ["MODEL"]),
        "TextEncodeQwenImageEditPlus": (
            {"clip": ("CLIP",), "prompt": ("STRING", {"multiline": True})},
            {"vae": ("VAE",), "image1": ("IMAGE",), "image2": ("IMAGE",), "image3": ("IMAGE",)},
            ["CONDITIONING"],
        ),
        "VAEEncode": ({"pixels": ("IMAGE",), "vae": ("VAE",)}, {}, ["LATENT"]),
        "KSampler": (
            {
                "model": ("MODEL",),
                "seed": number(0, 2**64 - 1, 0),
                "steps": number(1, 10000, 20),
                "cfg": number(0.0, 100.0, 8.0),
                "sampler_name": ["euler", "dpmpp_2m"],
                "scheduler": ["simple", "karras"],
                "positive": ("CONDITIONING",),
                "negative": ("CONDITIONING",),
                "latent_image": ("LATENT",),
                "denoise": number(0.0, 1.0, 1.0),
            },
            {},
            ["LATENT"],
        ),
        "VAEDecode": ({"samples": ("LATENT",), "vae": ("VAE",)}, {}, ["IMAGE"]),
        "SaveImage": ({"images": ("IMAGE",), "filename_prefix": ("STRING", {"default": "ComfyUI"})}, {}, []),
    }


def object_info(models: dict[str, list[str]], *, encoding: str) -> dict[str, Any]:
    """As GET /object_info answers: choices as [[...], {}] ("lists") or ["COMBO", {"options": [...]}] ("combo")."""

    def spec(given: Any) -> list[Any]:
        if isinstance(given, list):
            return [given, {}] if encoding == "lists" else ["COMBO", {"multiselect": False, "options": given}]
        return list(given)

    return {
        name: {
            "input": {
                "required": {key: spec(value) for key, value in required.items()},
                "optional": {key: spec(value) for key, value in optional.items()},
            },
            "output": outputs,
            "name": name,
            "output_node": name == "SaveImage",
        }
        for name, (required, optional, outputs) in node_table(models).items()
    }


def simple_edit(image: Image.Image, prompt: str, seed: int) -> Image.Image:
    """A plain but real edit: a plate in a picture's part for each text that is named, with the new text on it."""
    out = image.copy()
    draw = ImageDraw.Draw(out)
    colour = tuple(random.Random(seed).randrange(120, 230) for _ in range(3))
    for line in prompt.splitlines():
        if not line.startswith("- the words"):
            continue
        new = re.search(r'become "(.*)"$', line)
        box = _box(line, out.size)
        out.paste(out.crop(box).filter(ImageFilter.GaussianBlur(max(4, out.width // 40))), box[:2])
        if new:
            draw.rectangle(box, fill=colour)
            draw.text(
                ((box[0] + box[2]) // 2, (box[1] + box[3]) // 2),
                new[1],
                fill="black",
                anchor="mm",
                font=load_font(new[1], 48),
            )
    return out


def _box(line: str, size: tuple[int, int]) -> tuple[int, int, int, int]:
    width, height = size
    column = 0 if " left" in line else 2 if " right" in line else 1
    row = 0 if " top" in line else 2 if " bottom" in line else 1
    x, y = column * width // 3, row * height // 3
    return x + width // 24, y + height // 12, x + width // 3 - width // 24, y + height // 3 - height // 12
