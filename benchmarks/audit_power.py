"""Power and false alarms of `probe audit` on data made for it.

    python benchmarks/audit_power.py [--sets 200] [--repeats 20] [--out FILE.json]

False alarms: data sets in which nothing tells the answer, of four kinds and 200 to 1,000 questions; an alarm is a
verdict `cheatable` or `leaked`. Power: sentence pairs in which one token belongs to the right sentence in a share q of
the rows (and another to the wrong one), so that the best single token scores 1/2 + q/2.
"""

from __future__ import annotations

import argparse
import json
import random
import time

from probe.audit import audit
from probe.tasks.readers import Question, Reading

WORDS = [f"w{i}" for i in range(60)]
NAMES = [f"n{i}" for i in range(16)]


def reading(kind: str, questions: list[Question], classes: tuple[str, ...] = ()) -> Reading:
    """Questions as if they had been read from a file."""
    n = len(questions)
    return Reading(
        source="planted",
        format="planted",
        kind=kind,
        questions=tuple(questions),
        classes=classes,
        records=n,
        used=n,
        malformed=0,
        unlabelled=0,
        sampled_out=0,
    )


def planted_pairs(n: int, q: float, rng: random.Random) -> Reading:
    """Two sentences that differ in two random words; with probability q the right one has `tell`, the other `tale`."""
    questions = []
    for _ in range(n):
        good = rng.choices(WORDS, k=8)
        bad = good[:]
        while bad == good:
            for place in rng.sample(range(8), 2):
                bad[place] = rng.choice(WORDS)
        if rng.random() < q:
            good.insert(rng.randrange(9), "tell")
            bad.insert(rng.randrange(9), "tale")
        if rng.random() < 0.5 and q == 0:
            good, bad = bad, good
        questions.append(Question(options=(" ".join(good), " ".join(bad)), answer=0))
    return reading("pair", questions)


def clean_cloze(n: int, rng: random.Random) -> Reading:
    """Two names and a word, the answer a coin; every sentence independent."""
    questions = []
    for _ in range(n):
        a, b = rng.sample(NAMES, 2)
        prompt = f"{a} {rng.choice(WORDS)} {b} {rng.choice(WORDS)} {rng.choice(WORDS)}"
        questions.append(Question(prompt=prompt, options=(a, b), answer=rng.randrange(2)))
    return reading("cloze", questions)


def clean_labels(n: int, rng: random.Random) -> Reading:
    """Texts with a coin for a label."""
    questions = [
        Question(prompt=" ".join(rng.choices(WORDS, k=10)), options=(), answer=rng.randrange(2)) for _ in range(n)
    ]
    return reading("label", questions, ("0", "1"))


def clean_twins(n: int, rng: random.Random) -> Reading:
    """Templates in fours: each answer is a coin, the twins share it or not by chance, and a group binds them."""
    questions = []
    for k in range(n // 4):
        a, b = f"{rng.choice(NAMES)}{k}", f"{rng.choice(NAMES)}{k}x"
        frame = rng.choices(WORDS, k=6)
        for _ in range(4):
            prompt = " ".join([a, *frame[:3], b, *frame[3:], rng.choice(WORDS)])
            questions.append(Question(prompt=prompt, options=(a, b), answer=rng.randrange(2), group=f"g{k}"))
    return reading("cloze", questions)


CLEAN = {
    "pairs": lambda n, rng: planted_pairs(n, 0.0, rng),
    "cloze": clean_cloze,
    "labels": clean_labels,
    "twins": clean_twins,
}


def false_alarms(sets: int) -> dict:
    """The share of clean data sets with a verdict other than clean or underpowered, and which auditor it was."""
    rows = []
    for k in range(sets):
        rng = random.Random(f"clean {k}")
        kind = list(CLEAN)[k % len(CLEAN)]
        n = rng.choice([200, 500, 1000])
        result = audit(CLEAN[kind](n, rng), seed=k)
        rows.append(
            {
                "kind": kind,
                "n": n,
                "verdict": result.verdict,
                "by": list(result.by) if result.verdict in ("cheatable", "leaked") else [],
            }
        )
    alarms = [row for row in rows if row["by"]]
    return {
        "sets": sets,
        "alarms": len(alarms),
        "share": len(alarms) / sets,
        "clean": sum(row["verdict"] == "clean" for row in rows),
        "which": alarms,
        "by_kind": {kind: sum(row["kind"] == kind for row in alarms) for kind in CLEAN},
    }


def power(repeats: int) -> list[dict]:
    """Verdicts for each n and q."""
    table = []
    for n in (100, 300, 1000):
        for q in (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.75, 1.0):
            verdicts, accuracies = [], []
            for k in range(repeats):
                result = audit(planted_pairs(n, q, random.Random(f"{n} {q} {k}")), seed=k)
                verdicts.append(result.verdict)
                best = result.finding("bag-of-words")
                accuracies.append(best.accuracy if best else 0.5)
            table.append(
                {
                    "n": n,
                    "q": q,
                    "best_possible": 0.5 + q / 2,
                    "bag_of_words": round(sum(accuracies) / repeats, 3),
                    "cheatable": verdicts.count("cheatable") / repeats,
                    "clean": verdicts.count("clean") / repeats,
                    "underpowered": verdicts.count("underpowered") / repeats,
                }
            )
            print(json.dumps(table[-1]), flush=True)
    return table


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--out", default="")
    options = parser.parse_args()
    start = time.perf_counter()
    alarms = false_alarms(options.sets) if options.sets else None
    print(json.dumps(alarms, indent=1), flush=True)
    result = {"false_alarms": alarms, "power": power(options.repeats) if options.repeats else []}
    print(f"{time.perf_counter() - start:.0f} s")
    if options.out:
        with open(options.out, "w", encoding="utf-8") as stream:
            json.dump(result, stream, indent=1)


if __name__ == "__main__":
    main()
