"""A graph checked against what a server says of its nodes, before the first job."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Any

from signpost_kit.editing.comfyui.graph import MODEL_FOLDERS, Recipe, build_graph
from signpost_kit.errors import ConfigError

__all__ = ["check_graph", "choices_of", "fit_recipe"]

_NEEDED_VERSION = "0.3.60"  # of ComfyUI: the first that has all nodes of the graph
_UPLOADED = ("LoadImage", "image")  # its choices are the files there now; ours is not uploaded yet


def choices_of(spec: Any) -> list[str] | None:
    """The choices of an input in either of the two encodings of /object_info.

    `[["a", "b"], {...}]` (older) and `["COMBO", {"options": ["a", "b"], ...}]` (newer). None: the input is no
    choice, or the server does not say which there are.
    """
    if not isinstance(spec, list | tuple) or not spec:
        return None
    if isinstance(spec[0], list):
        return [str(choice) for choice in spec[0]]
    if spec[0] == "COMBO":
        options = spec[1].get("options") if len(spec) > 1 and isinstance(spec[1], dict) else None
        return [str(choice) for choice in options] if isinstance(options, list) else None
    return None


def check_graph(graph: dict[str, Any], info: dict[str, Any]) -> list[str]:
    """Everything that would make the server refuse a graph, or fail in it: one line each, none if all is well.

    Checked are node classes, unknown and missing inputs (the server would silently ignore the former), choices,
    limits of numbers, and the types of links. A missing model file is named with the folder that it belongs in.
    """
    problems: list[str] = []
    for node_id, node in graph.items():
        kind = node["class_type"]
        if kind not in info:
            problems.append(f"the node {kind} is missing: update ComfyUI to {_NEEDED_VERSION} or newer")
            continue
        inputs = info[kind].get("input") or {}
        required, optional = inputs.get("required") or {}, inputs.get("optional") or {}
        for name in required:
            if name not in node["inputs"]:
                problems.append(
                    f"the node {kind} needs an input {name!r} that this version of the kit does not know"
                )
        for name, value in node["inputs"].items():
            spec = required.get(name, optional.get(name))
            if spec is None:
                problems.append(
                    f"the node {kind} has no input {name!r}: update ComfyUI to {_NEEDED_VERSION} or newer"
                )
            elif _is_link(value):
                problems += _check_link((node_id, name), spec, graph, info)
            elif (kind, name) != _UPLOADED:
                problems += _check_value(kind, name, value, spec)
    return list(dict.fromkeys(problems))


def fit_recipe(recipe: Recipe, info: dict[str, Any], *, server: str) -> Recipe:
    """The recipe with the model files' names as this server has them, all checked.

    A file that lies in a folder of its own below the one for its kind (`Qwen/qwen_image_vae.safetensors`, with
    either slash) is found by its name.

    Raises
    ------
    ConfigError
        What is missing on the server: model files with their folders, nodes, choices.
    """
    from dataclasses import replace

    files = dict(recipe.files)
    for part, (kind, name) in zip(("unet", "clip", "vae", "lora"), MODEL_FOLDERS, strict=True):
        spec = ((info.get(kind) or {}).get("input") or {}).get("required", {}).get(name)
        found = _find(recipe.file(part), choices_of(spec) or ())
        if found is not None:
            files[part] = found
    fitted = replace(recipe, files=files)
    fitted = replace(fitted, defaults=_defaults(_example(fitted), info))
    problems = check_graph(_example(fitted), info)
    if problems:
        listed = "\n".join(f"  - {line}" for line in problems)
        raise ConfigError(f"the ComfyUI server {server} cannot edit pictures yet:\n{listed}")
    return fitted


def _example(recipe: Recipe) -> dict[str, Any]:
    return build_graph(recipe, image="x.png", size=(1024, 1024), prompt="", seed=0, filename_prefix="signpost/x")


def _defaults(graph: dict[str, Any], info: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Inputs that the server requires and the graph lacks, where the server names a default."""
    found: dict[str, dict[str, Any]] = {}
    for node in graph.values():
        required = ((info.get(node["class_type"]) or {}).get("input") or {}).get("required") or {}
        for name, spec in required.items():
            if name not in node["inputs"] and "default" in _options(spec):
                found.setdefault(node["class_type"], {})[name] = _options(spec)["default"]
    return found


def _options(spec: Any) -> dict[str, Any]:
    return spec[1] if isinstance(spec, list | tuple) and len(spec) > 1 and isinstance(spec[1], dict) else {}


def _find(wanted: str, choices: Iterable[str]) -> str | None:
    options = list(choices)
    if wanted in options:
        return wanted
    base = _base(wanted)
    return next((choice for choice in options if _base(choice) == base), None)


def _base(name: str) -> str:
    return PurePosixPath(name.replace("\\", "/")).name.lower()


def _is_link(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], int)


def _check_link(place: tuple[str, str], spec: Any, graph: dict[str, Any], info: dict[str, Any]) -> list[str]:
    node_id, name = place
    source, slot = graph[node_id]["inputs"][name]
    here = f"node {node_id} ({graph[node_id]['class_type']}), input {name!r}"
    if source not in graph:
        return [f"{here}: linked to node {source}, which is not in the graph"]
    outputs = (info.get(graph[source]["class_type"]) or {}).get("output")
    if outputs is None:
        return []  # the class is missing, which is said already
    if slot >= len(outputs):
        return [f"{here}: node {source} has no output {slot}"]
    wanted = spec[0] if isinstance(spec, list | tuple) and spec else "*"
    given = outputs[slot]
    if _typed(wanted) and _typed(given) and not set(wanted.split(",")) & set(given.split(",")):
        return [f"{here}: takes {wanted}, but is linked to {given}"]
    return []


def _typed(kind: Any) -> bool:
    """Whether it names one type or some; not the joker, nor the newer servers' `COMFY_...` templates."""
    return isinstance(kind, str) and kind != "*" and not kind.startswith("COMFY_")


def _check_value(kind: str, name: str, value: Any, spec: Any) -> list[str]:
    choices = choices_of(spec)
    if choices is not None:
        if str(value) in choices:
            return []
        folder = MODEL_FOLDERS.get((kind, name))
        if folder is not None:
            return [f"the model file {value} is missing: put it into {folder} of ComfyUI's folder"]
        return [f"the node {kind} does not know {name} = {value!r}: update ComfyUI to {_NEEDED_VERSION} or newer"]
    limits = _options(spec)
    if isinstance(value, int | float) and not isinstance(value, bool):
        low, high = limits.get("min"), limits.get("max")
        if (low is not None and value < low) or (high is not None and value > high):
            return [f"the node {kind} takes {name} from {low} to {high}, got {value}"]
    return []
