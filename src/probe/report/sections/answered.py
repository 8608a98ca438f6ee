"""Who answered: the model, drawn and counted."""

from __future__ import annotations

from probe.figures.model import Stack, stack_svg
from probe.report.document import Figure, Number, Panel, Section, Table
from probe.report.material import Material
from probe.report.sentences import counted, percent

PARTS = {"W_E": "embedding", "W_pos": "positions"} | dict.fromkeys(("_W_U", "W_U", "b_U"), "unembedding")


def answered(material: Material) -> Section:
    """Parts and parameters, counted from the weights that lie in the folder."""
    config, total = material.run.config, sum(material.parameters.values())
    by_part: dict[str, int] = {}
    for name, count in material.parameters.items():
        part = part_of(name)
        by_part[part] = by_part.get(part, 0) + count
    mixer = {"attention": "attention", "uniform": "a uniform mean of the words", "none": "nothing"}[config["mixer"]]
    heads = f" with {counted(config['n_heads'], 'head')} each" if config["mixer"] == "attention" else ""
    mlp = f"an MLP of {config['d_mlp']:,}" if config["d_mlp"] else "no MLP"
    largest = max(by_part, key=lambda part: by_part[part])
    said = (
        f"{material.run.manifest['variant']}: {counted(config['n_layers'], 'block')} of width {config['d_model']}, "
        f"joined by {mixer}{heads}, {mlp}, {config['position']} positions, norm {config['norm']}. "
        f"{total:,} parameters, the most of them ({percent(by_part[largest] / total)}) in the {largest}."
    )
    order = sorted(by_part, key=_place)
    numbered = tuple(f"head {head}" for head in range(config["n_heads"]))
    stack = Stack(
        title=f"{material.run.manifest['variant']}: {total:,} parameters",
        blocks=config["n_layers"],
        heads=numbered if config["mixer"] == "attention" and len(numbered) <= 12 else (mixer,),
        mlp=f"MLP, {config['d_mlp']:,} wide" if config["d_mlp"] else "",
        counts=[(part, by_part[part]) for part in order],
        added=config["residual"] == "add",
    )
    return Section(
        name="answered",
        title="Who answered",
        parts=(
            Figure(
                name="model",
                title="The model",
                says=said,
                panels=(Panel(svg=stack_svg(stack)),),
                note="From the words at the bottom to the logits at the top.",
            ),
            Table(
                name="parameters",
                title="Parameters by part",
                says="Counted from the weights in the run folder.",
                columns=("part", "parameters", "share"),
                rows=tuple(
                    (
                        part,
                        Number(value=by_part[part], text=f"{by_part[part]:,}"),
                        Number(value=by_part[part] / total, text=percent(by_part[part] / total)),
                    )
                    for part in order
                ),
                folded=True,
            ),
        ),
    )


def part_of(name: str) -> str:
    """The part of the model that a tensor belongs to.

    >>> part_of("blocks.1.attn.W_QKV"), part_of("W_E")
    ('attention of block 2', 'embedding')
    """
    pieces = name.split(".")
    if pieces[0] == "blocks":
        inside = {"attn": "attention", "mlp": "MLP"}.get(pieces[2], "norms")
        return f"{inside} of block {int(pieces[1]) + 1}"
    return PARTS.get(name, "last norm" if name.startswith("ln_final") else name)


def _place(part: str) -> tuple[int, int, str]:
    """Order of reading: from the words up."""
    if part.rsplit(" ", 1)[-1].isdigit():
        kind = ("norms", "attention", "MLP").index(part.split(" ")[0])
        return 1, 3 * int(part.rsplit(" ", 1)[-1]) + kind, part
    return (0, 0, part) if part in ("embedding", "positions") else (2, 0, part)
