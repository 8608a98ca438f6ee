"""The chapter's measurements, run and judged: one file each, the chapter's figures beside its rules.

A file holds a `Reproduction`: jobs that measure, and claims with the rule that judges them (`claims.py`). The files are
joined, run and saved by `probe.lab.reproducing`.
"""

MINUTES: dict[str, tuple[str, float]] = {
    "identities": ("exact statements about means, attention and positions", 0.1),
    "sizes": ("the size of a model is arithmetic", 0.2),
    "cost": ("one attention layer: time and memory over the length", 2),
    "scaling": ("why scores are divided by the root of the width", 35),
    "ladder": ("one piece a row: from no context to two blocks", 75),
    "positions": ("kinds of positions, read beyond the trained window", 25),
    "norms": ("where LayerNorm stands, with and without warm-up", 130),
    "winograd": ("a question with a right answer: easy and hard, by five models", 130),
}
"""Name -> what it is about, and minutes of two cores at full settings and its own number of seeds.

One seed, `winograd` 16. From the time of a step on an idle EPYC 7002.
"""
