"""What a run comes to, in numbers."""

from __future__ import annotations

import attrs


@attrs.define
class Figures:
    """Counted while it runs; `max` ones are of the daemon's process alone, of all its lives.

    Attributes:
        notifications: that were read and compared.
        racing_writes: by agents or the user, while operations were under way.
    """

    minutes: float = 0.0
    histories: int = 0
    histories_of_hooks: int = 0
    authors_checked: int = 0
    dry_runs_compared: int = 0
    undos_foretold: int = 0
    undos_overlapping: int = 0
    undos_open: int = 0
    lines_checked: int = 0
    rounds: int = 0
    requests: int = 0
    steps: int = 0
    undos: int = 0
    redos: int = 0
    restores: int = 0
    kills: int = 0
    kills_amid_operations: int = 0
    operations_completed_by_recovery: int = 0
    racing_writes: int = 0
    dropped_connections: int = 0
    cleanups: int = 0
    git_gcs: int = 0
    git_fscks: int = 0
    hashes_checked: int = 0
    snapshots_checked: int = 0
    files_checked: int = 0
    bytes_checked: int = 0
    ledger_entries_checked: int = 0
    bytes_found_in_snapshots: int = 0
    unsaved_files_checked: int = 0
    notifications: int = 0
    max_rss_mib: float = 0.0
    max_descriptors: int = 0
    max_threads: int = 0
    store_mib: float = 0.0

    def table(self) -> str:
        rows = [(name.replace("_", " "), value) for name, value in attrs.asdict(self).items()]
        width = max(len(name) for name, _ in rows)
        return "\n".join(
            f"{name:<{width}}  {value:>12,.1f}" if isinstance(value, float) else f"{name:<{width}}  {value:>12,}"
            for name, value in rows
        )
