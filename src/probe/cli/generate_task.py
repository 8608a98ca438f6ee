"""`probe generate-task NAME`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from probe.cli.options import AsJson, Quiet, hint, parse_settings, print_json


def generate_task(
    name: Annotated[str, typer.Argument(help="A task (`probe tasks` lists them) or the path of a task file of yours.")],
    out: Annotated[Path | None, typer.Option(help="Folder to write; data/NAME by default.", metavar="DIR")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the split and, for sequences, of the sentences.")] = 0,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Change a key of the task file.", metavar="KEY=VALUE")
    ] = None,
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Make a task's sentences, split them, and count what word order is worth."""
    from probe.files import write_atomic
    from probe.tasks.dataset import make_dataset, minimal_pairs, order_blind_counts, save_dataset
    from probe.tasks.spec import load_task

    dataset = make_dataset(load_task(name, parse_settings(settings or [])), seed)
    folder = out if out is not None else Path("data") / dataset.name
    save_dataset(dataset, folder)
    if out is None:
        write_atomic(folder.parent / "latest", folder.name + "\n")
    counts = order_blind_counts(dataset)
    pairs = minimal_pairs(dataset.examples)[:3]
    if json:
        print_json(
            {
                "task": dataset.name,
                "seed": seed,
                "folder": str(folder),
                "data_sha256": dataset.digest,
                "sentences": {side: len(examples) for side, examples in dataset.sides.items()},
                "vocabulary": len(dataset.vocabulary),
                "order_blind_ceiling": counts.ceiling,
                "bag_table": {"accuracy": counts.transfer.accuracy, "coverage": counts.transfer.coverage},
                "pairs": [[first.text, second.text] for first, second in pairs],
            }
        )
        return
    sizes = " · ".join(f"{side} {len(examples)}" for side, examples in dataset.sides.items())
    print(f"{dataset.name}: {dataset.spec.title}")
    print(f"sentences: {sizes} · {len(dataset.vocabulary)} words\n")
    for sentence in [s for pair in pairs for s in pair] or dataset.train[:3]:
        print(f"  {sentence.text}")
    print("\nwhat word order is worth, counted without a model:")
    print(f"  order-blind ceiling over all sentences              {counts.ceiling:6.1%}")
    print(
        f"  table bag -> answer from train, scored on held_out  {counts.transfer.accuracy:6.1%}"
        f"   (has an entry for {counts.transfer.coverage:.0%})"
    )
    print(f"\nwritten to {folder}/")
    hint("next: probe train --blocks 2" + (f" --task {folder}" if out is not None else ""), quiet)
