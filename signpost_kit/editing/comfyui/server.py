"""One server as the pool knows it: its client, its socket, what it was found to have, what was uploaded to it."""

from __future__ import annotations

import io
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass

from signpost_kit.editing.comfyui.address import Address
from signpost_kit.editing.comfyui.client import Client, File, TooLarge
from signpost_kit.editing.comfyui.events import Listener
from signpost_kit.editing.comfyui.faults import EditFailed
from signpost_kit.editing.comfyui.graph import Recipe
from signpost_kit.editing.comfyui.validate import fit_recipe

__all__ = ["Picture", "Server"]

_FORM_BYTES = 2_000  # that an upload's form adds to the picture


@dataclass(frozen=True)
class Picture:
    """An Original, ready to be sent."""

    png: bytes
    """Without metadata and upright."""
    hash: str
    """Of `png`; the name it is uploaded under, so that a picture is stored once and says nothing of its origin."""
    width: int
    height: int


class Server:
    """A server. `prepare` before the first job, and again when it came back from being away."""

    def __init__(self, address: Address, recipe: Recipe, *, changed: Callable[[], None] | None = None) -> None:
        self.address = address
        self._given = recipe
        self.recipe = recipe
        client_id = uuid.uuid4().hex
        self.client = Client(address, client_id)
        self.listener = Listener(address, client_id, changed=changed)
        self._listening = False
        self._uploads: dict[tuple[str, bool], File] = {}
        self._largest: int | None = None
        self._lock, self._sending = threading.Lock(), threading.Lock()

    @property
    def name(self) -> str:
        """Of the server, for records and messages."""
        return self.address.name

    def prepare(self) -> None:
        """Ask what the server has and check the graph against it.

        Raises
        ------
        ServerGone
            It does not answer.
        ConfigError
            It is no ComfyUI server, or lacks models or nodes.
        """
        self.look()
        with self._lock:
            self._uploads.clear()  # a server that was away may have been set up anew
            begin, self._listening = not self._listening, True
        if begin:
            self.listener.start()

    def look(self) -> None:
        """:meth:`prepare`, without listening."""
        recipe = fit_recipe(self._given, self.client.object_info(), server=self.address.base)
        largest = self.client.max_upload_bytes()
        with self._lock:
            self.recipe, self._largest = recipe, largest

    def upload(self, picture: Picture, size: tuple[int, int]) -> File:
        """The picture on the server; sent once, and again after :meth:`forget`.

        A picture that is too large for the server (GET /features says what it takes, or it answers 413) is scaled
        to the working size here, by the same filter as the graph would.

        Raises
        ------
        EditFailed
            Even then it is too large.
        """
        with self._sending:  # edits of one picture come together: the first one sends it
            return self._upload(picture, size)

    def _upload(self, picture: Picture, size: tuple[int, int]) -> File:
        limit = self._largest
        for scaled in (False, True):
            with self._lock:
                known = self._uploads.get((picture.hash, scaled))
            if known is not None:
                return known
            if not scaled and limit is not None and len(picture.png) + _FORM_BYTES > limit:
                continue
            data = _scaled(picture, size) if scaled else picture.png
            try:
                file = self.client.upload(data, f"signpost_{picture.hash}{'_s' if scaled else ''}.png")
            except TooLarge:
                if limit is None:
                    limit = self.client.max_upload_bytes()
                continue
            with self._lock:
                self._uploads[picture.hash, scaled] = file
            return file
        said = f"it takes {limit:,} bytes" if limit else "it does not say how much it takes"
        raise EditFailed(
            f"the picture is too large for {self.name} ({said}): start ComfyUI with a larger --max-upload-size, or "
            "raise the limit of the proxy before it"
        )

    def forget(self, picture: Picture) -> None:
        """The server no longer has a picture: send it again next time."""
        with self._lock:
            for scaled in (False, True):
                self._uploads.pop((picture.hash, scaled), None)

    def close(self) -> None:
        """End all connections."""
        self.listener.close()
        self.client.close()


def _scaled(picture: Picture, size: tuple[int, int]) -> bytes:
    from PIL import Image

    from signpost_kit.images import encode_png

    with Image.open(io.BytesIO(picture.png)) as opened:
        return encode_png(opened.convert("RGB").resize(size, Image.Resampling.LANCZOS))
