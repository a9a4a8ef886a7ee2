"""Every reply, once: one SQLite file per run.

A reply is finished when :meth:`ReplyStore.put` has returned (or the future of :meth:`ReplyStore.submit` is done):
it is then on the disk, and no kill takes it away. Threads, event loops and processes may share a store; each key
has one reply, whoever wrote it first.
"""

from __future__ import annotations

import sqlite3
import threading
import weakref
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from signpost_kit.errors import ConfigError, StorageError
from signpost_kit.evaluation import columns, rows
from signpost_kit.evaluation.reply import Reply
from signpost_kit.evaluation.schema import connect, explain, open_store
from signpost_kit.evaluation.tasks import parser_of, read_text
from signpost_kit.evaluation.writer import Writer
from signpost_kit.models.base import Request

if TYPE_CHECKING:
    import pandas as pd

    from signpost_kit.benchmark import Benchmark
    from signpost_kit.evaluation.batch_records import Batches
    from signpost_kit.evaluation.exchange import Imported
    from signpost_kit.evaluation.plan import Plan

__all__ = ["ReplyStore", "check_statuses"]


def check_statuses(names: Collection[str]) -> tuple[str, ...]:
    """`names` as a tuple if each is a status that can be asked again.

    Raises
    ------
    ConfigError
        An unknown status, or "ok": an answer that was paid for is never thrown away.
    """
    from signpost_kit.frames import STATUSES

    allowed = [status for status in STATUSES if status != "ok"]
    wanted = (names,) if isinstance(names, str) else tuple(names)
    for name in wanted:
        if name not in allowed:
            raise ConfigError(f"cannot ask again for the status {name!r}; allowed: {', '.join(allowed)}")
    return wanted


class ReplyStore:
    """The replies of one run. Use as a context manager, or call :meth:`close`.

    Parameters
    ----------
    path
        The SQLite file; made, whole, if it is absent. Beside it SQLite keeps `-wal` and `-shm` while it is open.
    create
        False: an absent file is an error.

    Raises
    ------
    StorageError
        The place cannot be written, or the file is damaged, cut off, foreign, or of another version. It is left as
        it is.
    """

    def __init__(self, path: Path | str, *, create: bool = True) -> None:
        self.path = Path(path)
        self._codes = rows.Codes()
        connection = open_store(self.path, create_missing=create)
        self._reader = connect(self.path)
        self._read_lock = threading.RLock()
        self._writer = Writer(connection, self.path, on_rollback=self._codes.clear)
        self._finalizer = weakref.finalize(self, _shut, self._writer, self._reader)

    def __enter__(self) -> ReplyStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Finish what is queued and close; a closed store is one file. Safe to call twice."""
        with self._read_lock:
            self._finalizer()

    # --- writing ------------------------------------------------------------------------------------------------

    def put(
        self, request: Request | Sequence[Request], reply: Reply, *, key: str = "", replace: Collection[str] = ()
    ) -> bool:
        """Keep a reply; when this returns it is on the disk.

        Parameters
        ----------
        request
            The question, or all questions with the same key (the same picture in two groups) that it answers.
        key
            `request.key`, when it is known already (computing it takes microseconds).
        replace
            Statuses of an earlier reply that gives way. "ok" never does; what gives way is kept aside.

        Returns
        -------
        bool
            False when an earlier reply was kept.
        """
        return bool(self.submit(request, reply, key=key, replace=replace).result())

    def submit(
        self, request: Request | Sequence[Request], reply: Reply, *, key: str = "", replace: Collection[str] = ()
    ) -> Future[bool]:
        """:meth:`put` without waiting: the future is done when the reply is on the disk."""
        requests = [request] if isinstance(request, Request) else list(request)
        key = key or requests[0].key
        codes, replaced = self._codes, tuple(replace)
        return self._writer.submit(lambda db: rows.write(db, codes, requests, key, reply, replace=replaced))

    def flush(self) -> None:
        """Wait until everything that was submitted is on the disk, or has failed."""
        self._writer.submit(lambda db: None).result()

    def put_many(self, pairs: Sequence[tuple[Request, Reply]], *, replace: Collection[str] = ()) -> tuple[int, int]:
        """Keep many replies in one transaction (all or none); return how many are new and how many were there."""
        codes, replaced = self._codes, tuple(replace)

        def job(db: sqlite3.Connection) -> int:
            return sum(rows.write(db, codes, [req], req.key, reply, replace=replaced) for req, reply in pairs)

        written = int(self._writer.submit(job).result())
        return written, len(pairs) - written

    def link(self, planned: Sequence[tuple[Request, str]]) -> dict[str, str]:
        """Point planned (request, key) pairs to the replies that are there; return key -> status of those.

        A question whose picture or options changed no longer shows its old reply afterwards. The prompts of the
        plan become the ones that :meth:`predictions` shows by default.
        """
        codes, found = self._codes, {}
        step = 20_000  # so that another process is never kept waiting for long
        for start in range(0, len(planned), step):
            part = planned[start : start + step]
            found.update(self._writer.submit(lambda db, part=part: rows.link(db, codes, part)).result())
        return found

    def pack(self, task: str = "coordinate", sample: int = 0, *, prompt_hash: str | None = None) -> bool:
        """Keep a packed copy for fast reading, if there are many rows; :meth:`predictions` is right without it."""
        with self._reading() as db:
            prompt = _prompt_id(db, task, prompt_hash)
            if prompt is None or _count(db, prompt, sample) < columns.PACK_FROM:
                return False
            if columns.read_packed(db, prompt, sample) is not None:
                return True
        self._writer.submit(lambda db: columns.pack(db, prompt, sample)).result()
        return True

    def reparse(self, task: str = "coordinate") -> int:
        """Read all stored texts of a task anew, with the parser as it is now; return how many replies changed.

        Nothing is asked. What a provider itself declined or cut off stays as it is.
        """
        parse, codes = parser_of(task), self._codes
        job = lambda db: rows.reparse(db, codes, task, lambda text, prompt: read_text(text, prompt, parse))  # noqa: E731
        return int(self._writer.submit(job).result())

    # --- reading ------------------------------------------------------------------------------------------------

    def get(self, key: str) -> Reply | None:
        """The reply stored under a key, or None."""
        with self._reading() as db:
            return rows.read_reply(db, key)

    def status(self, key: str) -> str | None:
        """The status stored under a key, or None: what a runner looks up just before it asks."""
        with self._reading(whole=False) as db:
            return rows.status(db, key)

    def done_keys(self, retry: Collection[str] = ()) -> set[str]:
        """Keys that need no asking: all that are stored, except those with a status in `retry`."""
        again = check_statuses(retry)
        with self._reading() as db:
            marks = ", ".join("?" * len(again))
            found = db.execute(
                f"SELECT r.key FROM replies r JOIN statuses s ON s.id = r.status_id WHERE s.name NOT IN ({marks})",
                again,
            )
            return {key for (key,) in found}

    def predictions(
        self,
        task: str = "coordinate",
        sample: int | None = 0,
        *,
        prompt_hash: str | None = None,
        models: Collection[str] | None = None,
        extra: Collection[str] = (),
    ) -> pd.DataFrame:
        """The `predictions` frame: one row per asked (model, group, variant), in that order; it may have no rows.

        Parameters
        ----------
        task, sample
            Which questions. sample None: all of them, with a column `sample`.
        prompt_hash
            Replies to two wordings never mix. None: the wording that was asked (or planned) last; see
            :meth:`prompts`.
        models
            Keep only these.
        extra
            Further columns, from :data:`signpost_kit.evaluation.columns.EXTRA` (slower).

        Returns
        -------
        DataFrame
            Text columns are categorical; lat and lon are degrees, NaN unless status is "ok".
        """
        names = _known_columns(extra)
        with self._reading() as db:
            prompt = _prompt_id(db, task, prompt_hash)
            prompt = -1 if prompt is None else prompt  # no such row: an empty frame of the right types
            samples = [sample] if sample is not None else _samples(db, prompt)
            return columns.read_frame(db, prompt, samples, models=models, extra=names, numbered=sample is None)

    def planned(self, plan: Plan, *, extra: Collection[str] = ()) -> pd.DataFrame:
        """The replies to the questions of one plan, one row each in its order, whatever prompts they had.

        Columns: model, dataset, group_id, variant, sample, status (`not_asked` where there is none yet), lat, lon
        in degrees (NaN unless status is "ok"), and those of `extra`, see :meth:`predictions`; `fields` (what a
        structured task read) and `notes` are dicts or None.
        """
        from signpost_kit.evaluation.planned import read_plan

        names = _known_columns(extra)
        with self._reading() as db:
            return read_plan(db, plan, names)

    def prompts(self) -> pd.DataFrame:
        """One row per prompt: task, hash, text, replies (how many questions it has answers for), last first."""
        import pandas as pd

        with self._reading() as db:
            found = db.execute(
                "SELECT task, hash, text, (SELECT count(*) FROM asks a WHERE a.prompt_id = p.id) FROM prompts p "
                "ORDER BY used_at DESC, id DESC"
            ).fetchall()
        return pd.DataFrame(found, columns=["task", "hash", "text", "replies"])

    def coverage(self) -> pd.DataFrame:
        """Counts by task, model, variant and status (of the last prompt of each task); `share` is of the asked."""
        import pandas as pd

        from signpost_kit.frames import STATUSES, VARIANTS

        with self._reading() as db:
            tasks = [task for (task,) in db.execute("SELECT DISTINCT task FROM prompts ORDER BY id")]
            wanted = [prompt for task in tasks if (prompt := _prompt_id(db, task, None)) is not None]
            found = db.execute(
                "SELECT p.task, m.name, v.name, s.name, count(*) FROM asks a "
                "JOIN prompts p ON p.id = a.prompt_id JOIN models m ON m.id = a.model_id "
                "JOIN variants v ON v.id = a.variant_id JOIN replies r ON r.id = a.reply_id "
                "JOIN statuses s ON s.id = r.status_id "
                f"WHERE a.prompt_id IN ({', '.join('?' * len(wanted))}) "
                "GROUP BY a.prompt_id, a.model_id, a.variant_id, r.status_id",
                wanted,
            ).fetchall()
        rank = {name: i for i, name in enumerate((*VARIANTS, *STATUSES))}
        first = {pair: i for i, pair in enumerate(dict.fromkeys(row[:2] for row in found))}
        found.sort(key=lambda r: (first[r[0], r[1]], rank.get(r[2], 99), rank.get(r[3], 99)))
        frame = pd.DataFrame(found, columns=["task", "model", "variant", "status", "n"])
        asked = frame.groupby(["task", "model", "variant"], sort=False)["n"].transform("sum")
        return frame.assign(share=frame["n"] / asked)

    def spent_usd(self) -> float:
        """What all stored replies cost, those that were asked again included, as far as their prices are known."""
        with self._reading() as db:
            sums = [
                db.execute(f"SELECT total(price_usd) FROM {t}").fetchone()[0] for t in ("replies", "superseded")
            ]
        return float(sum(sums))

    def usage(self) -> pd.DataFrame:
        """What each reply took: key, model, status, input_tokens, output_tokens, cached_tokens, price_usd,
        latency_s, attempts, notes (a dict), and `current`, False for those that a later reply replaced.
        """
        import pandas as pd

        frame = pd.DataFrame(self.used(), columns=list(rows.USED))
        numbers = ("input_tokens", "output_tokens", "cached_tokens", "price_usd", "latency_s", "attempts")
        return frame.astype({"current": "bool", **dict.fromkeys(numbers, "float64")})

    def used(self) -> list[tuple[Any, ...]]:
        """The rows of :meth:`usage`, plain."""
        with self._reading() as db:
            return rows.used(db)

    def __len__(self) -> int:
        """How many replies are stored."""
        with self._reading() as db:
            return int(db.execute("SELECT count(*) FROM replies").fetchone()[0])

    @property
    def batches(self) -> Batches:
        """What is under way in batches at the providers."""
        from signpost_kit.evaluation.batch_records import Batches

        return Batches(self._writer, self._reading, self._codes)

    # --- exchange -----------------------------------------------------------------------------------------------

    def export_jsonl(
        self, folder: Path | str, benchmark: Benchmark | None = None, *, task: str = "coordinate"
    ) -> list[Path]:
        """Write the replies in the release's layout; see :func:`signpost_kit.evaluation.exchange.export_jsonl`."""
        from signpost_kit.evaluation.exchange import export_jsonl

        return export_jsonl(self, Path(folder), benchmark, task=task)

    def import_jsonl(self, path: Path | str, *, dataset: str = "") -> Imported:
        """Read replies in the release's layout; see :func:`signpost_kit.evaluation.exchange.import_jsonl`."""
        from signpost_kit.evaluation.exchange import import_jsonl

        return import_jsonl(self, Path(path), dataset=dataset)

    @contextmanager
    def _reading(self, *, whole: bool = True) -> Iterator[sqlite3.Connection]:
        """One consistent view: whatever is read inside stems from the same moment; one statement needs no more."""
        with self._read_lock:
            if not self._finalizer.alive:
                raise StorageError(f"the store {self.path} is closed: open it again")
            try:
                if whole:
                    self._reader.execute("BEGIN")
                try:
                    yield self._reader
                finally:
                    if whole:
                        self._reader.execute("ROLLBACK")
            except sqlite3.Error as error:
                raise explain(error, self.path) from error


def _shut(writer: Writer, reader: sqlite3.Connection) -> None:
    reader.close()  # first, or the writer's last checkpoint would find a reader
    writer.close()


def _known_columns(extra: Collection[str]) -> tuple[str, ...]:
    names = (extra,) if isinstance(extra, str) else tuple(extra)
    for name in names:
        if name not in columns.EXTRA:
            raise ConfigError(f"the store has no column {name!r}; extra columns: {', '.join(columns.EXTRA)}")
    return names


def _prompt_id(db: sqlite3.Connection, task: str, prompt_hash: str | None) -> int | None:
    if prompt_hash is None:
        sql, values = "task = ? ORDER BY used_at DESC, id DESC LIMIT 1", (task,)
    else:
        sql, values = "task = ? AND hash = ?", (task, prompt_hash)
    row: Any = db.execute(f"SELECT id FROM prompts WHERE {sql}", values).fetchone()
    return None if row is None else int(row[0])


def _count(db: sqlite3.Connection, prompt: int, sample: int) -> int:
    sql = "SELECT count(*) FROM asks WHERE prompt_id = ? AND sample = ?"
    return int(db.execute(sql, (prompt, sample)).fetchone()[0])


def _samples(db: sqlite3.Connection, prompt: int) -> list[int]:
    rows = db.execute("SELECT DISTINCT sample FROM asks WHERE prompt_id = ? ORDER BY sample", (prompt,))
    return [sample for (sample,) in rows]
