"""What can be said about a profile's `compute` section before a run starts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from signpost_kit.mapping.engine import SCHEDULERS, check_scheduler

if TYPE_CHECKING:
    from signpost_kit.profile_sections import Compute

__all__ = ["check_compute"]


def check_compute(compute: Compute, folder: Path | str = "") -> None:
    """Check where the construction stages will work; talks to the network only for a Dask cluster.

    Parameters
    ----------
    compute
        The profile's section.
    folder
        A folder that exists and that a cluster's machines must see under the same path (the project's, the run's).

    Raises
    ------
    ConfigError
        Unknown scheduler; no Dask scheduler answers within 5 s; it has no worker; its machines have another Python
        or signpost_kit, or do not see the folder.
    MissingExtraError
        The extra `dask` is not installed.
    """
    check_scheduler(compute.scheduler, compute.workers)
    if compute.scheduler not in SCHEDULERS:
        from signpost_kit.mapping.cluster import check_cluster

        check_cluster(compute.scheduler, str(folder))
