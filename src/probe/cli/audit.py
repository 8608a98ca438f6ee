"""`probe audit DATA …`: can anything order-blind answer this?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

FAIL_ON = ("cheatable", "leaked", "misdeclared")


def audit(
    data: Annotated[
        list[str], typer.Argument(help="Task names, task files, folders, data files, or - for standard input.")
    ],
    against: Annotated[
        str, typer.Option(help="A training set: its leaks into DATA are counted, and what learns learns from it too.")
    ] = "",
    pool: Annotated[bool, typer.Option("--pool", help="Audit all DATA as one set.")] = False,
    format: Annotated[str, typer.Option(help="Override the sniffed form: jsonl, csv, tsv, xml, blocks, …")] = "",
    map: Annotated[list[str] | None, typer.Option("--map", help="FIELD=COLUMN, e.g. good=a; may be repeated.")] = None,
    encoding: Annotated[str, typer.Option(help="Of a text file that does not declare one.")] = "",
    strict: Annotated[bool, typer.Option("--strict", help="Stop at the first malformed record.")] = False,
    margin: Annotated[float, typer.Option(help="How far above chance is still clean.")] = 0.05,
    tokens: Annotated[str, typer.Option(help="both, normalised, raw or char.")] = "both",
    tokenizer: Annotated[str, typer.Option(help="A Hugging Face tokenizer.json on this machine.")] = "",
    max_questions: Annotated[int, typer.Option(help="Sample beyond this many, twins together.")] = 20_000,
    seed: Annotated[int, typer.Option(help="Of folds, resamples and permutations.")] = 0,
    run: Annotated[str, typer.Option(help="A run: how much of its accuracy survives a shuffle?")] = "",
    runs: Annotated[Path, typer.Option("--runs", help="Folder of the runs.", metavar="DIR")] = Path("runs"),
    model: Annotated[str, typer.Option(help="The same of a local Hugging Face model.", metavar="DIR")] = "",
    shuffles: Annotated[
        int | None, typer.Option(help="Shuffles of each prompt, with --run or --model; 5 by default.")
    ] = None,
    jobs: Annotated[int, typer.Option(help="Files audited at once; 0: as many as there are cores.")] = 0,
    fail_on: Annotated[
        list[str] | None, typer.Option(help="cheatable, leaked or misdeclared: exit 1 on it; may be repeated.")
    ] = None,
    markdown: Annotated[str, typer.Option(help="Write a Markdown section to this file.")] = "",
    html: Annotated[str, typer.Option(help="Write an HTML page to this file.")] = "",
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    details: Annotated[bool, typer.Option("--details", help="Also raw tokens, all problems, more tokens.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Verdict lines only, no progress.")] = False,
) -> None:
    """Try to answer minimal pairs, cloze or labelled texts without the order of the words, with statistics."""
    import os
    import sys

    from probe.cli import audit_jobs as jobs_room
    from probe.errors import CheckFailed, NotThere, ProbeError, nearest
    from probe.files import to_json, write_atomic
    from probe.processes import available_cores
    from probe.report import audit as report
    from probe.tasks.readers import ours

    checks = [part.strip() for value in fail_on or [] for part in value.split(",") if part.strip()]
    for check in checks:
        if check not in FAIL_ON:
            raise ProbeError(f"--fail-on {check}: {nearest(check, FAIL_ON)}")
    if against and "misdeclared" in checks:
        raise ProbeError("--fail-on misdeclared: with --against the claims of a task are not judged; give one of them")
    job = jobs_room.Job(
        sources=tuple(data),
        against=against,
        format=format or None,
        mapping=jobs_room.mapping(map or []),
        encoding=encoding or None,
        strict=strict,
        margin=margin,
        tokens=tokens,
        tokenizer=tokenizer,
        max_questions=max_questions,
        seed=seed,
        shuffles=5 if shuffles is None else shuffles,
    )
    if all(ours(source) for source in (*data, *([against] if against else []))):
        for option, value in (("--format", format), ("--map", map), ("--encoding", encoding)):
            if value:
                raise ProbeError(f"{', '.join(data)}: a task of ours, of which {option} says nothing; leave it out")
    if jobs < 0:
        raise ProbeError(f"--jobs {jobs}: must be 0 (as many as there are cores) or more")
    if run and model:
        raise ProbeError("--run and --model both name a model to ask; give one of them")
    if shuffles and not (run or model):  # 0 is refused in any case
        raise ProbeError(f"--shuffles {shuffles}: of the prompts that a model is asked; give --run or --model as well")
    if tokenizer and tokens != "both":
        raise ProbeError("--tokens and --tokenizer both say how texts are cut; give one of them")
    asked = None
    if run or model:
        from probe.lab.answering import answers_of_pretrained, answers_of_run

        asked = answers_of_run(runs, run) if run else answers_of_pretrained(Path(model))
    say = (lambda text: print(text, file=sys.stderr, flush=True)) if not quiet else (lambda _: None)
    parts = [job] if pool else [job.only(source) for source in data]
    results, errors = jobs_room.run(parts, workers=jobs or available_cores(), model=asked, say=say)
    if errors and not results:
        first = errors[0][1]
        if len(errors) > 1:
            for _, error in errors[1:]:
                print(f"error: {error}", file=sys.stderr)
        raise first
    if markdown:
        write_atomic(Path(markdown), report.markdown(results))
    if html:
        write_atomic(Path(html), report.page(results))
    if json:
        failed = [{"source": source, "error": str(error)} for source, error in errors]
        print(to_json({"schema": 1, "audits": [r.as_dict() for r in results], "errors": failed}))
    else:
        colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        for result in results:
            shown = f"{report.plain(result.reading.source)}: {report.plain(result.headline)}\n"
            print(
                shown if quiet else report.terminal(result, colour=colour, details=details), end="" if quiet else "\n"
            )
    if errors:
        kind = NotThere if all(isinstance(error, NotThere) for _, error in errors) else ProbeError
        raise kind("; ".join(str(error) for _, error in errors))
    caught = [
        f"{r.reading.source} is {check}" for check in FAIL_ON if check in checks for r in results if getattr(r, check)
    ]
    if caught:
        raise CheckFailed(f"{'; '.join(caught)} (--fail-on {', '.join(checks)})")
