"""Results made by hand, with the columns that the analyses give them: every figure can be drawn without a model."""

from __future__ import annotations

import itertools

import pandas as pd

from probe.figures.findings import Findings, Row
from probe.result import AnalysisResult, Provenance

SOURCE = Provenance(task_digest="", model_digest="", seed=0, versions={}, threads=1, dtype="", git_commit=None)
ROLES = ("the", "x", "did", "y", "adjective", "answer's place")


def result(name: str, rows: list[Row], unit: str = "share", **details: object) -> AnalysisResult:
    return AnalysisResult(
        name=name,
        table=pd.DataFrame(rows),
        unit=unit,
        maximum=1.0,
        floor="0: nothing",
        convention="as made by hand",
        provenance=SOURCE,
        details={"pairs": 40, **details},
    )


def value(*parts: object) -> float:
    """A number that is another one for everything, and always the same: two decimals from 0 to 0.99."""
    return (sum(ord(letter) * (i + 7) for i, letter in enumerate(repr(parts))) % 100) / 100


def estimate(*parts: object, sign: float = 1.0) -> Row:
    middle = sign * value(*parts)
    return {"value": middle, "low": middle - 0.05, "high": middle + 0.05}


def parts_of(layers: int, heads: int) -> list[str]:
    return [name for i in range(layers) for name in (*(f"L{i}H{h}" for h in range(heads)), f"MLP{i}")]


def found(layers: int = 2, heads: int = 2, roles: tuple[str, ...] = ROLES) -> Findings:
    """Everything that a run may hold."""
    places = [{"position": i, "role": role} for i, role in enumerate(roles)]
    cells = [{"layer": i, "head": h} for i, h in itertools.product(range(layers), range(heads))]
    parts = parts_of(layers, heads)
    nodes = [
        {"node": node, **place, "metric": metric, **estimate(node, place, metric)}
        for metric, node, place in itertools.product(("noising", "denoising"), parts, places)
    ]
    edges = [
        {"sender": a, "receiver": b, "port": port, **estimate(a, b, port, sign=-1.0 if port == "k" else 1.0)}
        for a, b in itertools.combinations(["embedding", *parts], 2)
        for port in (("mlp",) if b.startswith("MLP") else ("q", "k", "v"))
        if a.strip("LMP")[:1] != b[1:2] or b.startswith("MLP")
    ]
    edges += [
        {"sender": a, "receiver": "logits", "port": "logits", **estimate(a, "logits")} for a in ["embedding", *parts]
    ]
    steps = range(0, 500, 50)
    made = {
        "accuracy": result(
            "accuracy",
            [
                {"split": side, "condition": c, "metric": m, "n": 120, "groups": 9, **estimate(side, c, m)}
                for side, c, m in itertools.product(
                    ("validation", "held_out"), ("trained", "untrained"), ("referent accuracy", "pair accuracy")
                )
            ],
        ),
        "heads": result(
            "heads",
            [
                {**cell, "metric": m, **estimate(cell, m), "floor": 0.2, "maximum": 1.0, "control": 0.25, "name": ""}
                for cell, m in itertools.product(cells, ("previous token", "induction"))
            ],
        ),
        "head-roles": result(
            "head-roles",
            [
                {**cell, **place, "condition": c, **estimate(cell, place, c)}
                for c, cell, place in itertools.product(("trained", "untrained"), cells, places)
            ],
            visible=6,
        ),
        "answer-rows": result(
            "answer-rows",
            [
                {"layer": i, "head": h, "filler": f, "filler_group": g, **place, **estimate(i, h, f, place)}
                for i, h, (f, g), place in itertools.product(
                    range(layers), range(-1, heads), (("tired", "crosser"), ("wet", "crossed")), places
                )
            ],
            visible=6,
        ),
        "composition": result(
            "composition",
            [
                {"sender": f"L0H{a}", "receiver": f"L1H{b}", "metric": m, "value": value(a, b, m), "control": 0.1}
                for m, a, b in itertools.product("QKV", range(heads), range(heads))
            ],
        ),
        "formation": result(
            "formation",
            [
                {"step": s, **cell, "metric": m, "value": min(1.0, s / 500 * value(cell, m))}
                for m, cell, s in itertools.product(("induction", "previous token"), cells, steps)
            ]
            + [{"step": s, "layer": -1, "head": -1, "metric": "accuracy", "value": s / 500} for s in steps],
        ),
        "formation-changes": result(
            "formation-changes",
            [
                {"metric": "induction", **cells[0], "step": 200.0, "low": 150.0, "high": 250.0},
                {"metric": "induction", **cells[-1], "step": None, "low": None, "high": None},
                {"metric": "accuracy", "layer": -1, "head": -1, "step": 300.0, "low": 280.0, "high": 330.0},
            ],
        ),
        "probes": result(
            "probes",
            [
                {"kind": k, "layer": i, "head": h, **place, "target": t, "metric": m, "condition": c, "floor": 0.1}
                | estimate(k, i, h, place, t, m, c)
                for (k, h), i, place, t, (m, c) in itertools.product(
                    (("resid_pre", None), ("z", 0)),
                    range(layers),
                    places,
                    ("first noun", "answer"),
                    (("accuracy", "trained"), ("accuracy", "untrained"), ("accuracy", "control"))
                    + (("selectivity", "trained"), ("codelength", "trained")),
                )
            ],
        ),
        "interchange": result(
            "interchange",
            [
                {"variable": v, "kind": "resid_pre", "layer": i, **place, "metric": "interchange accuracy"}
                | {"condition": c, "floor": 0.0, "dimension": None, **estimate(v, i, place, c)}
                for v, c, i, place in itertools.product(
                    ("first noun", "role"), ("trained", "untrained"), range(layers), places
                )
            ],
        ),
        "lens": result(
            "lens",
            [
                {"layer": i, "kind": "resid_post", **place, "metric": m, "value": scale * value(i, place, m)}
                for (m, scale), i, place in itertools.product(
                    (("logit difference", -8.0), ("probability", 1.0)), range(layers), places
                )
            ],
        ),
    }
    for contrast in ("adjective", "order-of-the-nouns"):
        about = {"contrast": contrast.replace("-", " "), "roles": {str(i): role for i, role in enumerate(roles)}}
        about |= {"changed": [4] if contrast == "adjective" else [1, 3]}
        made |= {
            f"trace-nodes-{contrast}": result("nodes", nodes, **about),
            f"trace-edges-{contrast}": result("edges", edges, **about),
            f"sweeps-{contrast}": result(
                "sweeps",
                [
                    {"kind": "resid_pre", "layer": i, "head": None, **p, "metric": m, **estimate("resid_pre", i, p)}
                    for i, p, m in itertools.product(range(layers), places, ("noising", "denoising"))
                ]
                + [
                    {"kind": k, **cell, "position": None, "role": None, "metric": "noising"} | estimate(k, cell)
                    for k, cell in itertools.product(("q", "z"), cells)
                ],
                contrast=contrast.replace("-", " "),
            ),
            f"attribution-{contrast}": result(
                "attribution",
                [
                    {"node": node, "metric": m, **estimate(node, m, sign=sign)}
                    for node, (m, sign) in itertools.product(["embedding", *parts], (("direct", 1.0), ("total", -1.0)))
                ],
                unit="logits",
            ),
            f"evidence-{contrast}": result(
                "evidence",
                [
                    {"circuit": c, "level": level, "ablation": a, "positions": p, "metric": "faithfulness"}
                    | estimate(c, level, a, p)
                    for level, a, p, c in itertools.product(
                        ("node", "edge"),
                        ("zero", "mean", "resample"),
                        ("all", "by role"),
                        ("found", "random", "untrained"),
                    )
                ],
            ),
            f"subsets-{contrast}": result(
                "subsets",
                [
                    {"metric": m, "subset": s, "edges": 1, "value": value(m, s), "low": None, "high": None}
                    for m, s in itertools.product(("completeness", "minimality"), ("into logits", "L0H0 → MLP0"))
                ],
            ),
            f"sizes-{contrast}": result(
                "sizes",
                [
                    {"edges": n, "circuit": c, "value": min(1.0, n / 30), "low": 0.0, "high": 1.0}
                    for n, c in itertools.product((0, 1, 2, 5, 10, 20, 50), ("found", "random"))
                ],
                **{"area, found, linear": 0.75},
            ),
        }
    return Findings(
        run="a-run",
        digest="0123456789abcdef" * 4,
        about="a task · a model",
        spec={"answer": {"by": "adjective", "crosser": "x", "crossed": "y"}},
        metrics=[
            {
                "step": step,
                "loss": 3.0 - step / 200,
                "held_out": {"referent_accuracy": step / 500, "pair_accuracy": 0.5, "distractor_rate": 0.1},
            }
            for step in steps
        ],
        results=made,
    )
