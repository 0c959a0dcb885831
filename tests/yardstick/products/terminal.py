"""A terminal that agents with a full-screen interface are typed into: tmux, on a socket of its own."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Sequence

from tests.yardstick.place import LIMIT, Place

from .product import Hung, wait_until


class Terminal:
    """One program in one window."""

    def __init__(self, place: Place, name: str, command: Sequence[str]) -> None:
        self._place = place
        self._mux = ["tmux", "-S", str(place.above / "run" / f"tmux-{name}"), "-f", "/dev/null"]
        self._tmux("new-session", "-d", "-x", "110", "-y", "60", *command)
        # what tmux starts leads a group of its own
        self._leader = self.pid()

    def _tmux(self, *arguments: str) -> str:
        done = subprocess.run(
            [*self._mux, *arguments],
            cwd=self._place.start,
            env=self._place.environment,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=LIMIT,
        )
        return done.stdout

    def screen(self) -> str:
        """What can be seen, without the spaces at the ends of lines."""
        return "\n".join(line.rstrip() for line in self._tmux("capture-pane", "-p", "-t", "0").splitlines()).strip()

    def press(self, *keys: str) -> None:
        """Presses keys, by tmux's names for them."""
        self._tmux("send-keys", "-t", "0", *keys)

    def type(self, text: str, limit: float = LIMIT) -> None:
        """Types some text, and waits until it is there to be seen."""
        self._tmux("send-keys", "-t", "0", "-l", text)
        wait_until(lambda: text in self.screen(), f"{text!r} is typed, and not seen:\n{self.screen()}", limit)

    def wait_for(self, *texts: str) -> str:
        """Waits until one of some texts can be seen, and gives that one."""
        wait_until(lambda: any(text in self.screen() for text in texts), f"none of {texts} is seen:\n{self.screen()}")
        screen = self.screen()
        return next((text for text in texts if text in screen), texts[0])

    def press_until(self, key: str, text: str, *, gone: bool = False) -> None:
        """Presses a key until a text can be seen, or cannot any longer: some dialogs ignore what comes too early."""
        deadline = time.monotonic() + LIMIT
        while (text in self.screen()) == gone:
            self.press(key)
            patience = time.monotonic() + 1.0
            while (text in self.screen()) == gone and time.monotonic() < patience:
                time.sleep(0.05)
            if time.monotonic() > deadline:
                raise Hung(f"{key} is pressed, and {text!r} is {'still' if gone else 'not'} there:\n{self.screen()}")

    def pid(self) -> int:
        """The program's."""
        return int(self._tmux("display-message", "-p", "-t", "0", "#{pane_pid}"))

    def kill(self) -> None:
        """Ends the program, and those that it has started: some do all their work in another process."""
        os.killpg(self._leader, signal.SIGKILL)

    def is_open(self) -> bool:
        return subprocess.run([*self._mux, "has-session"], capture_output=True, check=False).returncode == 0

    def close(self) -> None:
        """Ends all of it: some programs outlive their terminal."""
        self._tmux("kill-server")
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._leader, signal.SIGKILL)
