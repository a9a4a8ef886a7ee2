"""The default engine: PP-OCR models on onnxruntime, inside the wheel."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from signpost_kit.errors import DataError, MissingExtraError
from signpost_kit.ocr.corners import holds_no_text, line_polygon
from signpost_kit.ocr.engines import OcrSettings, TextLine

if TYPE_CHECKING:
    import numpy as np

__all__ = ["RapidOcr"]

_making = threading.Lock()


class RapidOcr:
    """Latin, Chinese and Japanese, offline; 0.23 s of one core for 1024 x 768, about 430 MB."""

    def __init__(self, settings: OcrSettings) -> None:
        self._settings = settings
        try:
            from rapidocr import RapidOCR
        except ImportError as error:
            raise MissingExtraError(
                f"the OCR engine 'rapidocr' cannot be loaded ({error}): run `pip install rapidocr onnxruntime`"
            ) from error
        logging.getLogger("RapidOCR").setLevel(logging.ERROR)
        with _making, _lean_sessions():
            self._engine: Any = RapidOCR(
                params={
                    "Global.log_level": "error",
                    "Global.text_score": settings.min_confidence,
                    "EngineConfig.onnxruntime.intra_op_num_threads": min(settings.threads, os.cpu_count() or 1),
                    "EngineConfig.onnxruntime.inter_op_num_threads": 1,
                    # Keeping freed memory for the next picture saves the 26,000 page faults of each: a sixth of
                    # the time.
                    "EngineConfig.onnxruntime.enable_cpu_mem_arena": True,
                    # We choose the working size ourselves; this keeps the engine from changing it again.
                    "Det.limit_type": "max",
                    "Det.limit_side_len": 4096,
                    "Global.max_side_len": 4096,
                    # Wide lines padded to the widest of a batch cost memory and no time is won on a CPU. Alone, a
                    # line also reads the same whatever else stands in the picture.
                    "Rec.rec_batch_num": 1,
                }
            )
            for part in ("_load_det_model", "_load_cls_model", "_load_rec_model"):  # newer versions put this off
                getattr(self._engine, part, lambda: None)()

    def read(self, image: np.ndarray) -> tuple[TextLine, ...]:
        """Lines in reading order, polygons mapped back to the picture as given."""
        import cv2
        import numpy as np

        height, width = image.shape[:2]
        if holds_no_text(width, height):
            return ()
        scale = self._settings.scale_for(width, height)
        work = image[:, :, ::-1]
        if scale != 1.0:
            size = (max(1, round(width * scale)), max(1, round(height * scale)))
            work = cv2.resize(work, size, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC)
        try:
            result = self._engine(np.ascontiguousarray(work))
        except Exception as error:  # the engine's own classes, which say nothing about the picture
            raise DataError(
                f"OCR failed on a picture of {width} x {height} pixels: {error or type(error).__name__}; "
                "leave it out, or give it another shape"
            ) from error
        if getattr(result, "boxes", None) is None or result.txts is None or result.scores is None:
            return ()
        back = np.array([width / work.shape[1], height / work.shape[0]])
        return tuple(
            TextLine(
                str(text), line_polygon(str(text), np.asarray(box) * back, width, height), round(float(score), 5)
            )
            for box, text, score in zip(result.boxes, result.txts, result.scores, strict=True)
        )


@contextlib.contextmanager
def _lean_sessions() -> Iterator[None]:
    """Sessions made inside keep no memory pattern per input shape: photos of many shapes would add up (150 MB).

    rapidocr has no option for it. Where its inside differs, sessions are made as it likes.
    """
    try:
        from rapidocr.inference_engine.onnxruntime.main import OrtInferSession

        usual = OrtInferSession._init_sess_opts
    except (ImportError, AttributeError):
        yield
        return

    def lean(*args: Any, **options: Any) -> Any:
        made = usual(*args, **options)
        made.enable_mem_pattern = False
        return made

    OrtInferSession._init_sess_opts = staticmethod(lean)
    try:
        yield
    finally:
        OrtInferSession._init_sess_opts = staticmethod(usual)
