"""Work side by side: however the command that began it ends, no worker stays behind."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from probe.processes import side_by_side

SLEEPERS = """
import os, sys, time
from pathlib import Path
from probe.processes import side_by_side

def work(job, tell):
    Path(sys.argv[1], str(os.getpid())).touch()
    time.sleep(60)

if __name__ == "__main__":
    try:
        side_by_side(work, [0, 1, 2, 3], 2)
    except KeyboardInterrupt:
        sys.exit(130)
"""


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def within(seconds: float, true) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if true():
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGTERM, 130), (signal.SIGKILL, -9)])
def test_no_worker_outlives_its_command(tmp_path: Path, sent: signal.Signals, code: int) -> None:
    """Asked by `kill` or killed outright: the terminal's Ctrl-C is the only one that reaches workers by itself."""
    script, started = tmp_path / "sleepers.py", tmp_path / "started"
    script.write_text(SLEEPERS)
    started.mkdir()
    command = subprocess.Popen([sys.executable, str(script), str(started)])
    assert within(60, lambda: len(list(started.iterdir())) == 2)
    command.send_signal(sent)
    assert command.wait(timeout=20) == code
    workers = [int(path.name) for path in started.iterdir()]
    assert within(10, lambda: not any(map(alive, workers)))
    assert len(list(started.iterdir())) == 2, "none took another job"


def test_a_full_disk_in_a_worker_is_told_as_one() -> None:
    with pytest.raises(OSError, match="No space left") as told:
        side_by_side(_full, [0, 1], 2)
    assert (told.value.errno, told.value.filename) == (errno.ENOSPC, "weights")


def _full(job: int, tell) -> None:
    raise OSError(errno.ENOSPC, "No space left on device", "weights")
