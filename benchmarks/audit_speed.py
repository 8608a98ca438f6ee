"""How long `probe audit` takes: one file of 1,000 pairs, and 67 of them.

    python benchmarks/audit_speed.py [--files 67] [--jobs 2] [--data FOLDER]

BLiMP is 67 paradigms of 1,000 minimal pairs. Those in the folder are used in turn until there are enough (each is read
and audited anew); without a folder, pairs of the same size are made up.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import statistics
import tempfile
import time
from pathlib import Path

from probe.cli.audit_jobs import Job, run


def made_up(folder: Path, n: int = 8) -> list[Path]:
    """Files of 1,000 pairs of about eight words from 400."""
    rng = random.Random(0)
    words = [f"w{i}" for i in range(400)]
    paths = []
    for k in range(n):
        rows = []
        for i in range(1000):
            good = rng.choices(words, k=8)
            bad = good[:]
            bad[rng.randrange(8)] = rng.choice(words)
            texts = {"sentence_good": " ".join(good) + ".", "sentence_bad": " ".join(bad) + " x."}
            rows.append(texts | {"pairID": str(i)})
        paths.append(folder / f"made-up-{k}.jsonl")
        paths[-1].write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return paths


def job(path: Path) -> Job:
    """An audit with everything at its default."""
    return Job(
        sources=(str(path),),
        against="",
        format=None,
        mapping={},
        encoding=None,
        strict=False,
        margin=0.05,
        tokens="both",
        tokenizer="",
        max_questions=20_000,
        seed=0,
        shuffles=5,
    )


def main() -> None:
    """Print seconds as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=67)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--data", default="")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        paths = sorted(Path(options.data).glob("*.jsonl")) if options.data else made_up(Path(folder))
        single = []
        for path in paths[:8]:
            start = time.perf_counter()
            run([job(path)], workers=1, model=None, say=lambda _: None)
            single.append(time.perf_counter() - start)
        parts = [job(path) for path in itertools.islice(itertools.cycle(paths), options.files)]
        start = time.perf_counter()
        results, errors = run(parts, workers=options.jobs, model=None, say=lambda _: None)
        whole = time.perf_counter() - start
    print(
        json.dumps(
            {
                "one_file_first_seconds": round(single[0], 2),
                "one_file_median_seconds": round(statistics.median(single[1:] or single), 2),
                "one_file_max_seconds": round(max(single), 2),
                "files": len(results),
                "errors": len(errors),
                "jobs": options.jobs,
                "all_files_seconds": round(whole, 1),
            }
        )
    )


if __name__ == "__main__":
    main()
