"""From command to saved run: `probe train` against a plain TransformerLens loop on the same task, in the same sitting.

Both start from nothing (imports included) and end with 100 % on held-out pairs; ours also writes the run folder. The
peer is a script of its own (`peer_transformerlens.py`, or another with its output) that trains seeds one after another.

    python benchmarks/command_to_run.py [--seeds 5] [--sweep 16] [--peer FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

PEER = Path(__file__).with_name("peer_transformerlens.py")


def timed(*command: str) -> tuple[float, str]:
    """Wall seconds of a command, and its stdout."""
    began = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return time.perf_counter() - began, done.stdout


def ours(seed: int, folder: Path) -> tuple[float, dict[str, Any]]:
    """One training command to a saved run."""
    seconds, stdout = timed(
        sys.executable, "-m", "probe", "train", "--task", "winograd-hard", "--blocks", "2", "--until", "1.0",
        "--seed", str(seed), "--runs", str(folder / f"{seed}"), "--json",
    )  # fmt: skip
    return seconds, json.loads(stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--sweep", type=int, default=16)
    parser.add_argument("--peer", type=Path, default=PEER)
    options = parser.parse_args()
    print(f"load average before: {os.getloadavg()[0]:.2f} on {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        mine = [ours(seed, folder) for seed in range(options.seeds)]
        for seconds, summary in mine:
            held_out = summary["held_out"]["referent_accuracy"]
            print(f"probe  seed {summary['seed']}  {seconds:5.2f} s  {summary['steps']} steps  held_out {held_out:.1%}")
        sweep, stdout = timed(
            sys.executable, "-m", "probe", "train", "--task", "winograd-hard", "--blocks", "2", "--until", "1.0",
            "--seeds", f"0-{options.sweep - 1}", "--runs", str(folder / "sweep"), "--json",
        )  # fmt: skip
        solved = json.loads(stdout)["summary"]["solved"]
    median = statistics.median(seconds for seconds, _ in mine)
    print(f"probe  median {median:.2f} s; {options.sweep} seeds {sweep:.1f} s, {solved['count']} at 100 % on held_out")
    peer, stdout = timed(sys.executable, str(options.peer), str(options.sweep))
    rows = [json.loads(line) for line in stdout.splitlines()]
    for row in rows[: options.seeds]:
        print(f"peer   seed {row['seed']}  {row['import_s'] + row['wall_s']:5.2f} s  {row['steps_to_100']} steps")
    of_peer = statistics.median(row["import_s"] + row["wall_s"] for row in rows[: options.seeds])
    print(f"peer   median {of_peer:.2f} s (import included); {options.sweep} seeds one after another {peer:.1f} s")
    one, many = median / of_peer, sweep / peer
    print(f"ours / peer: {one:.2f} for one seed (aim 0.33), {many:.2f} for {options.sweep} seeds (aim 0.17)")


if __name__ == "__main__":
    main()
