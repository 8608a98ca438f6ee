"""`probe attn-map "SENTENCE"`."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from probe.cli.options import AsJson, Quiet, RunsDir, consoles, hint, print_json
from probe.errors import ProbeError

FORMATS = ("terminal", "json", "svg", "png", "html")


def attn_map(
    sentence: Annotated[str, typer.Argument(help="A sentence; ending in ... it is completed from the run's task.")],
    run: Annotated[str | None, typer.Option(help="The run; the latest one where none is named.", metavar="RUN")] = None,
    head: Annotated[str | None, typer.Option(help="Only this head, as L1H2.", metavar="L0H0")] = None,
    average: Annotated[bool, typer.Option("--average", help="Only the mean of each block.")] = False,
    against: Annotated[str | None, typer.Option(help="A second sentence to compare with.", metavar="SENTENCE")] = None,
    pair: Annotated[bool, typer.Option("--pair", help="Compare with the other sentence of the minimal pair.")] = False,
    query: Annotated[
        str | None,
        typer.Option(
            help="The row to read out: a word that stands once, or a position (negative: from the end); by default "
            "the one before the answer."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the pictures; the run's by default.", metavar="DIR")
    ] = None,
    format: Annotated[str, typer.Option(help="terminal, json, svg, png or html.")] = "terminal",
    ascii: Annotated[bool, typer.Option("--ascii", help="No blocks, only plain characters.")] = False,
    runs: RunsDir = Path("runs"),
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Show where each head looks. A map is no mechanism: it says where, not whether that causes the answer."""
    from probe import lab, store
    from probe.errors import nearest
    from probe.figures.view import attention_view
    from probe.files import digest

    if format not in FORMATS:
        raise ProbeError(f"--format {format}: {nearest(format, FORMATS)}")
    if json and format in ("svg", "png", "html"):
        raise ProbeError(f"--json prints numbers and --format {format} writes a picture; give one of them")
    if sum((head is not None, average)) > 1:
        raise ProbeError("--head and --average exclude each other")
    if against is not None and pair:
        raise ProbeError("--against and --pair exclude each other")
    found = store.open_run(runs, run)
    question = lab.ask(found, sentence, against, pair, query)
    with _waiting(quiet or json or format == "json"):
        attention, prediction = lab.attention_of(found, question)
    layers, heads = _chosen(head, average, attention.details)
    view = attention_view(
        question.title, attention, prediction, question.queries, question.candidates, question.answers, layers, heads
    )
    if json or format == "json":
        print_json(_as_json(found.name, view, attention))
        return
    shown = digest([question.key, question.title, attention.provenance.model_digest])[:10]
    stem = f"{_slug(sentence)}-{shown}" + (
        f"-L{layers[0]}H{heads[0]}" if layers and heads else "-mean" if average else ""
    )
    written = _write(view, out or found.path / "figures", stem, format)
    if format == "terminal":
        if question.fitting > 1:
            hint(f"the first of {question.fitting} minimal pairs that begin so; write more words to choose", quiet)
        stdout, _ = consoles()
        parts = (found.manifest["task"], found.manifest["variant"], f"run {found.name}\n")
        stdout.print((" - " if ascii else " · ").join(parts))
        from probe.report.terminal import print_attention

        print_attention(stdout, view, ascii_only=ascii)
        if shared := _shared(view, attention):
            stdout.print(f"\n{_shared_text(shared)}")
        hint("", quiet)
    for path in written:
        print(path) if format != "terminal" else hint(f"picture: {path}", quiet)


def _chosen(head: str | None, average: bool, details: Any) -> tuple[list[int] | None, list[int] | None]:
    """Layers and heads to show."""
    if average:
        return None, []
    if head is None:
        return None, None
    match = re.fullmatch(r"[Ll](\d+)[Hh](\d+)", head)
    last = f"L{details['n_layers'] - 1}H{details['n_heads'] - 1}"
    if not match:
        raise ProbeError(f"--head {head}: write it as L0H2 (layer and head count from 0; the last is {last})")
    layer, number = int(match.group(1)), int(match.group(2))
    if layer >= details["n_layers"] or number >= details["n_heads"]:
        raise ProbeError(f"--head {head}: the model has heads L0H0 … {last}")
    return [layer], [number]


def _shared(view: Any, attention: Any) -> dict[str, Any] | None:
    """What layer 0 can and cannot have moved between the sentences of a pair; None where nothing can be compared."""
    from dataclasses import asdict

    from probe.analyses.shared_scores import shared_scores

    shared = shared_scores(attention) if view.changed and 0 in view.layers else None
    return None if shared is None else asdict(shared)


def _shared_text(shared: dict[str, Any]) -> str:
    equal = "bit-equal, as they must be" if shared["bit_equal"] else "NOT bit-equal: not what a causal model can do"
    moved = shared["largest_weight_change"]
    how = (
        f"differ by up to {moved:.2f}, because the changed word competes in the softmax"
        if moved >= 0.005
        else "hardly differ here"
    )
    return f"layer 0 on the words both sentences share: {shared['compared']} scores {equal}; its weights {how}."


def _as_json(run: str, view: Any, attention: Any) -> dict[str, Any]:
    sentences = []
    for each in view.sentences:
        sentences.append(
            {
                "tokens": list(each.tokens),
                "query": each.query,
                "predictions": [{"word": word, "probability": share} for word, share in each.predictions],
                "logits": dict(each.candidates),
                "answer": each.answer,
                "block_means": {
                    f"block {layer + 1}": m.tolist() for layer, m in zip(view.layers, each.block_means, strict=True)
                },
                "heads": {
                    f"L{layer}H{head}": each.weights[i, j].tolist()
                    for i, layer in enumerate(view.layers)
                    for j, head in enumerate(view.heads)
                },
            }
        )
    meaning = {key: getattr(attention, key) for key in ("unit", "maximum", "floor", "convention")}
    return {"run": run, "sentences": sentences, "layer_0_shared_scores": _shared(view, attention), **meaning}


def _write(view: Any, folder: Path, stem: str, format: str) -> list[Path]:
    """Write the pictures that the format asks for; the terminal gets SVG and PNG beside it."""
    from probe.figures.attention_svg import attention_svg
    from probe.files import write_atomic

    written = []
    kinds = ("svg", "png") if format == "terminal" else (format,)
    for kind in kinds:
        path = folder / f"{stem}.{kind}"
        written.append(path)
        if kind == "svg":
            write_atomic(path, attention_svg(view))
        elif kind == "html":
            from probe.report.attention_page import attention_page

            write_atomic(path, attention_page(view))
        elif not path.exists():  # its name holds the digest of what it shows
            from probe.figures.attention_print import attention_print

            write_atomic(path, attention_print(view))
    return written


def _slug(sentence: str) -> str:
    """The first words, as a file name."""
    words = re.sub(r"[^\w]+", "-", sentence.lower()).strip("-").split("-")[:4]
    return "-".join(words)[:40] or "sentence"


def _waiting(silent: bool) -> Any:
    """A line on stderr while torch imports."""
    import contextlib

    if silent or not sys.stderr.isatty():
        return contextlib.nullcontext()
    _, stderr = consoles()
    return stderr.status("looking …")
