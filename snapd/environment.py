"""Values from the environment other than settings; minimal, as hooks import it."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


RECORDED = "SNAPD_RECORDED"
"""Set for an agent whose work is already recorded: its hooks only report what others did."""

NO_SETTINGS = frozenset(
    {"SNAPD_HOOK_SECONDS", "SNAPD_LOG", "SNAPD_PAGER", RECORDED, "SNAPD_RUNTIME_DIR", "SNAPD_TOKEN"}
)


def user_directories(environment: Mapping[str, str], home: str) -> tuple[str, str, str]:
    """The absolute directories for settings, data and the socket; `SNAPD_DATA_DIR` and `SNAPD_RUNTIME_DIR` override."""
    config, data, runtime = _of_platform(environment, home)
    return (
        config,
        os.path.abspath(environment.get("SNAPD_DATA_DIR") or data),
        os.path.abspath(environment.get("SNAPD_RUNTIME_DIR") or runtime),
    )


def own_command(*words: str) -> list[str]:
    """The command line that runs this program again, independent of Python variables and the current directory."""
    if getattr(sys, "frozen", False):
        return [sys.executable, *words]
    return [sys.executable, "-EPs" if sys.flags.no_user_site else "-EP", "-m", "snapd", *words]


def spool_directory(data: str) -> str:
    """The directory of events that hooks could not record yet, below the data directory."""
    return os.path.join(data, "snapd", "agents", "spool")


def socket_path(runtime: str) -> str:
    """The socket of the per-user daemon in the runtime directory."""
    return os.path.join(runtime, "daemon.sock")


def _of_platform(environment: Mapping[str, str], home: str) -> tuple[str, str, str]:
    if sys.platform in ("darwin", "win32"):
        import platformdirs

        return (
            platformdirs.user_config_dir("snapd", False),
            os.path.dirname(platformdirs.user_data_dir("snapd", False)),
            platformdirs.user_runtime_dir("snapd", False),
        )

    # the XDG base directories without a library, which would slow each command down
    def base(name: str, default: str) -> str:
        value = environment.get(name, "")
        return value if os.path.isabs(value) else default

    user = os.getuid()
    runtime = base("XDG_RUNTIME_DIR", f"/run/user/{user}")
    return (
        os.path.join(base("XDG_CONFIG_HOME", os.path.join(home, ".config")), "snapd"),
        base("XDG_DATA_HOME", os.path.join(home, ".local", "share")),
        # not TMPDIR, which differs between logins: they would not find each other's daemon
        os.path.join(runtime, "snapd") if os.access(runtime, os.W_OK | os.X_OK) else f"/tmp/snapd-{user}",  # noqa: S108
    )
