"""`probe train`: one run, or the same over many seeds."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from probe.cli.options import (
    AsJson,
    DataDir,
    Quiet,
    RunsDir,
    consoles,
    default_threads,
    hint,
    parse_seeds,
    parse_settings,
    print_json,
)
from probe.errors import ProbeError
from probe.processes import available_cores

if TYPE_CHECKING:
    from probe.store import Run
    from probe.tasks.dataset import Dataset


def train(
    task: Annotated[str | None, typer.Option(help="A task's name, a task file, or a generated folder.")] = None,
    blocks: Annotated[int | None, typer.Option(help="Number of blocks; 2 where nothing is said.")] = None,
    variant: Annotated[str | None, typer.Option(help="A named model: uniform, one-block, attention-only-2, …")] = None,
    heads: Annotated[int | None, typer.Option(help="Attention heads a block.")] = None,
    d_model: Annotated[int | None, typer.Option(help="Width.")] = None,
    position: Annotated[str | None, typer.Option(help="none, learned, sinusoidal, rope or alibi.")] = None,
    norm: Annotated[str | None, typer.Option(help="none, pre or post.")] = None,
    steps: Annotated[int | None, typer.Option(help="Training steps.")] = None,
    lr: Annotated[float | None, typer.Option(help="Highest learning rate.")] = None,
    batch_size: Annotated[int | None, typer.Option(help="Sentences a step.")] = None,
    optimizer: Annotated[str | None, typer.Option(help="muon or adamw.")] = None,
    until: Annotated[
        float | None,
        typer.Option(help="Validation accuracy from which the rate falls to 0; then stop, if it still holds."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed of the weights and of the order of the sentences; 0 by default.")
    ] = None,
    seeds: Annotated[str | None, typer.Option(help="Several seeds side by side, as 0-7.", metavar="A-B")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="Any field of the model or training configuration.", metavar="KEY=VALUE"),
    ] = None,
    device: Annotated[
        str | None, typer.Option(help="cpu, cuda, or auto: cuda where there is one; auto by default.")
    ] = None,
    threads: Annotated[int | None, typer.Option(help="Threads a process; one by default.")] = None,
    resume: Annotated[str | None, typer.Option(help="Go on with this run.", metavar="RUN")] = None,
    runs: RunsDir = Path("runs"),
    data: DataDir = Path("data"),
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Train a model on a task; print what it reached beside the untrained one and the order-blind count."""
    from probe import lab, store
    from probe.training.config import training_for

    if resume is not None:
        named = {"task": task, "blocks": blocks, "variant": variant, "heads": heads, "d-model": d_model, "norm": norm}
        named |= {"position": position, "steps": steps, "lr": lr, "batch-size": batch_size, "optimizer": optimizer}
        named |= {"until": until, "seeds": seeds, "set": settings, "threads": threads, "seed": seed, "device": device}
        for option, value in named.items():
            if value is not None:
                raise ProbeError(f"--resume goes on with the run's own settings, so --{option} cannot be given with it")
        run = store.open_run(runs, resume)
        _device(run.manifest.get("device", "cpu"))
        with progress([run], quiet or json) as tell:
            summary = lab.train_here(run, lambda row: tell(run, row))
        _print_run(run, summary, lab.run_dataset(run), json, quiet)
        return
    if blocks is not None and variant is not None:
        raise ProbeError("--blocks and --variant both say how many blocks; give one of them")
    if seed is not None and seeds is not None:
        raise ProbeError("--seed and --seeds both say which seed; give one of them")
    dataset, origin = lab.open_dataset(task, data)
    named = {"n_heads": heads, "d_model": d_model, "position": position, "norm": norm}
    training = {"steps": steps, "lr": lr, "batch_size": batch_size, "optimizer": optimizer, "until": until}
    name, model = _variant(blocks, variant), {key: value for key, value in named.items() if value is not None}
    training = {key: value for key, value in training.items() if value is not None}
    _sort_settings(parse_settings(settings or []), model, training)
    if blocks is not None and model.get("n_layers", blocks) != blocks:
        raise ProbeError(f"--set n_layers={model['n_layers']}: --blocks says {blocks} already; give one of them")
    chosen = parse_seeds(seeds) if seeds is not None else [seed or 0]
    per_process = default_threads() if threads is None else threads
    if per_process < 1:
        raise ProbeError(f"--threads {threads}: must be 1 or more")
    planned, on = [], _device(device or "auto")
    for each in chosen:
        plan = lab.make_plan(dataset, name, training_for(name, **{**training, "seed": each}), model, on, per_process)
        planned.append(lab.plan_run(plan, runs, sys.argv[1:]))
    hint(f"on {origin}", quiet or json)
    if all(run.finished for run in planned):
        hint("trained before with these settings; shown from the run folder", quiet or json)
    with progress(planned, quiet or json) as tell:
        if len(planned) == 1:
            summaries = [lab.train_here(planned[0], lambda row: tell(planned[0], row), dataset)]
        else:
            processes = max(1, available_cores() // per_process)
            summaries = lab.train_side_by_side(planned, processes, tell)
    if len(planned) == 1 and seeds is None:
        _print_run(planned[0], summaries[0], dataset, json, quiet)
    else:
        _print_sweep(summaries, dataset, json, quiet)


def _variant(blocks: int | None, variant: str | None) -> str:
    """The named variant that `--blocks` or `--variant` means."""
    if variant is not None:
        return variant
    count = 2 if blocks is None else blocks
    if count < 0:
        raise ProbeError(f"--blocks {count}: must be 0 or more")
    return {0: "no-context", 1: "one-block", 2: "two-block"}.get(count, f"{count}-block")


def _sort_settings(settings: dict[str, Any], model: dict[str, Any], training: dict[str, Any]) -> None:
    """Put each `--set` where its key belongs."""
    import dataclasses

    from probe.errors import nearest
    from probe.models.config import ModelConfig
    from probe.training.config import TrainingConfig

    homes = {field.name: model for field in dataclasses.fields(ModelConfig)}
    homes |= {field.name: training for field in dataclasses.fields(TrainingConfig)}
    for key, value in settings.items():
        if key == "seed":
            raise ProbeError(f"--set seed={value}: write --seed {value}, or --seeds for several")
        if key not in homes:
            raise ProbeError(f"--set {key}: no such setting; {nearest(key, homes)}")
        kind = type({**_defaults(ModelConfig), **_defaults(TrainingConfig)}.get(key, 0))
        if kind in (int, float, bool, str) and type(value) is not kind and not (kind is float and type(value) is int):
            raise ProbeError(f"--set {key}={value}: {value!r} is not {kind.__name__}")
        if key in homes[key] and homes[key][key] != value:
            raise ProbeError(f"--set {key}={value}: it is said to be {homes[key][key]} already; give one of them")
        homes[key][key] = value


def _defaults(cls: type) -> dict[str, Any]:
    import dataclasses

    known = [field for field in dataclasses.fields(cls) if field.default is not dataclasses.MISSING]
    return {field.name: 0.0 if field.default is None else field.default for field in known}  # `until` is a number


def _device(device: str) -> str:
    """`auto` is cuda where torch was built for it and finds one; a CPU build answers without being imported."""
    from importlib.metadata import version

    if device == "cpu" or (device == "auto" and "+cpu" in version("torch")):
        return "cpu"
    import torch

    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise ProbeError(f"device {device}: torch finds no CUDA device here; train with --device cpu")
    if not device.startswith("cuda"):
        raise ProbeError(f"--device {device}: choose cpu, cuda or auto")
    return device


@contextmanager
def progress(planned: list[Any], silent: bool) -> Iterator[Callable[[Any, dict[str, Any]], None]]:
    """A bar for each run on a terminal, plain lines in a pipe, nothing when silent."""
    todo = [run for run in planned if not run.finished]
    if silent or not todo:
        yield lambda run, row: None
        return
    if not sys.stderr.isatty():
        yield _say_line
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.completed:.0f}/{task.total:.0f} {task.fields[said]}"),
        TimeRemainingColumn(),
    )
    _, stderr = consoles()
    with Progress(*columns, console=stderr, transient=True) as bars:
        rows = {
            run.name: bars.add_task(
                f"seed {run.manifest['training']['seed']}",
                total=run.manifest["training"]["steps"],
                said="loading torch …",
            )
            for run in todo
        }

        def tell(run: Any, row: dict[str, Any]) -> None:
            rate = row["step"] / row["seconds"] if row["seconds"] else 0.0
            accuracy = row["validation"]["referent_accuracy"]
            said = f"loss {row['loss']:.3f}  validation {accuracy:.0%}  {rate:.0f} steps/s"
            bars.update(rows[run.name], completed=row["step"], said=said)

        yield tell


def _say_line(run: Any, row: dict[str, Any]) -> None:
    steps = run.manifest["training"]["steps"]
    rate = row["step"] / row["seconds"] if row["seconds"] else 0.0
    left = f", {(steps - row['step']) / rate:.0f} s left" if rate and row["step"] < steps else ""
    print(
        f"seed {run.manifest['training']['seed']}  step {row['step']}/{steps}  loss {row['loss']:.3f}  "
        f"validation {row['validation']['referent_accuracy']:.1%}  {rate:.0f} steps/s{left}",
        file=sys.stderr,
    )


def _print_run(run: Run, summary: dict[str, Any], dataset: Dataset, json: bool, quiet: bool) -> None:
    if json:
        print_json(summary)
        return
    from probe import store
    from probe.report.training import run_text
    from probe.tasks.dataset import order_blind_counts

    print(run_text(summary, order_blind_counts(dataset), store.read_metrics(run)))
    hint(_next(dataset), quiet)


def _print_sweep(summaries: list[dict[str, Any]], dataset: Dataset, json: bool, quiet: bool) -> None:
    from probe.report.training import sweep_summary, sweep_text
    from probe.tasks.dataset import order_blind_counts

    if json:
        print_json({"runs": summaries, "summary": sweep_summary(summaries)})
        return
    print(sweep_text(summaries, order_blind_counts(dataset)))
    hint(_next(dataset), quiet)


def _next(dataset: Dataset) -> str:
    """The command that a new user would type now, for this task."""
    from probe.tasks.dataset import minimal_pairs

    pairs = minimal_pairs(dataset.examples)
    if not pairs:
        return f'next: probe attn-map "{" ".join(dataset.held_out[0].prompt)}"'
    tokens = zip(pairs[0][0].tokens, pairs[0][1].tokens, strict=True)
    shared = next(i for i, (a, b) in enumerate(tokens) if a != b)
    return f'next: probe attn-map "{" ".join(pairs[0][0].tokens[: min(shared, 5)])}..."'
