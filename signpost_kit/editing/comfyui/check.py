"""What can be checked of the ComfyUI servers before a run starts."""

from __future__ import annotations

from signpost_kit.editing.comfyui.address import parse_address
from signpost_kit.editing.comfyui.faults import ServerGone
from signpost_kit.errors import ConfigError, ModelError
from signpost_kit.profile_sections import Editing

__all__ = ["check_comfyui"]


def check_comfyui(editing: Editing) -> None:
    """Raise unless the edits could begin: addresses in order, at least one server reachable, models present.

    Does nothing for another editor. Each server is asked twice (/object_info and /features); no job is submitted.

    Raises
    ------
    ConfigError
        No servers are given, an address is wrong or not allowed, a prompt's template is missing or cannot be
        filled, something else than ComfyUI answers, or servers lack models (each named with its folder) or nodes.
    ModelError
        No server answers.
    """
    if editing.editor != "comfyui":
        return
    from signpost_kit.benchmark.groups import Span
    from signpost_kit.editing.comfyui.pool import recipe_of
    from signpost_kit.editing.comfyui.server import Server
    from signpost_kit.editing.comfyui.wording import instruct

    if not editing.servers:
        raise ConfigError(
            "the editor comfyui needs a server: add --set editing.servers='[http://127.0.0.1:8188]', or use "
            "--set editing.editor=paint, which needs none"
        )
    recipe = recipe_of(editing)
    addresses = [parse_address(text, allow_remote_http=editing.allow_remote_http) for text in editing.servers]
    for variant in ("Blank", "Random"):
        instruct([Span("a", replacements={"random": "b"})], variant, width=1, height=1)
    silent: list[str] = []
    faults: list[str] = []
    for address in {address.base: address for address in addresses}.values():
        server = Server(address, recipe)
        try:
            server.look()
        except ServerGone as error:
            silent.append(str(error))
        except ConfigError as error:
            faults.append(str(error))
        finally:
            server.close()
    if faults:
        raise ConfigError("\n".join(faults))
    if len(silent) == len(addresses):
        raise ModelError(f"no ComfyUI server answers: {'; '.join(silent)}. Start one, or check editing.servers")
