"""`probe reproduce NAME`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from probe.cli.options import AsJson, Quiet, hint, print_json
from probe.errors import CheckFailed, ProbeError
from probe.processes import available_cores


def reproduce(
    name: Annotated[str | None, typer.Argument(help="One of those that --list shows, or all.")] = None,
    seeds: Annotated[
        str | None, typer.Option(help="How many training seeds of each row (16: 0 to 15).", metavar="N")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Small and short: shows that it runs, proves nothing.")
    ] = False,
    corpus: Annotated[Path | None, typer.Option(help="The text of the language models.", metavar="FILE")] = None,
    download: Annotated[bool, typer.Option("--download", help="Fetch the chapter's corpus, and check it.")] = False,
    config: Annotated[Path | None, typer.Option(help="sizes: a config.json of your own.", metavar="FILE")] = None,
    out: Annotated[Path, typer.Option(help="Folder of the results.", metavar="DIR")] = Path("reproductions"),
    processes: Annotated[int | None, typer.Option(help="Rows side by side; one a core by default.")] = None,
    judge: Annotated[bool, typer.Option("--judge", help="Run nothing; judge the rows that are there.")] = False,
    listing: Annotated[bool, typer.Option("--list", help="Say what there is, and how long it takes.")] = False,
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Run the chapter's measurements and judge its claims: agrees, differs, or depends on the seed.

    What was interrupted goes on with the row it stood at. Exit code 1 only where an exact statement fails.
    """
    from probe.reproductions import MINUTES

    if listing:
        rows = [{"name": name, "about": about, "minutes": minutes} for name, (about, minutes) in MINUTES.items()]
        if json:
            print_json({"reproductions": rows})
        else:
            print("\n".join(f"{row['name']:12} {row['minutes']:>6g} min on 2 cores   {row['about']}" for row in rows))
        return
    if name is None:
        raise ProbeError(f"name a reproduction: {', '.join(MINUTES)}, or all; --list says what each takes")
    if seeds is not None and not seeds.isdecimal():
        raise ProbeError(f"--seeds {seeds}: how many, 1 or more (16 is what train calls 0-15)")
    asked = None if seeds is None else int(seeds)
    if processes is not None and processes < 1:
        raise ProbeError(f"--processes {processes}: must be 1 or more")
    from probe.lab import reproducing as lab
    from probe.reproductions.claims import Settings
    from probe.reproductions.corpus import find_corpus

    chosen = [lab.reproduction_of(each) for each in (MINUTES if name == "all" else [name])]
    if config is not None and name not in ("sizes", "all"):
        raise ProbeError(f"--config {config}: only sizes reads one")
    reads = any(one.needs_corpus for one in chosen)
    if not reads and (corpus is not None or download):
        raise ProbeError(f"{name} reads no corpus; leave {'--download' if download else '--corpus'} out")
    if download and (corpus is not None or judge):
        raise ProbeError(f"--download and {'--judge' if judge else '--corpus'} do not go together; give one of them")
    if asked is not None and not any(job.seeded for one in chosen for job in one.jobs):
        raise ProbeError(f"{name} trains nothing and draws nothing, so that it has no seeds; leave --seeds out")
    if processes is not None and processes > 1 and all(one.alone for one in chosen):
        raise ProbeError(f"{name} measures time, and runs alone; leave --processes out")
    if config is not None and not config.is_file():
        raise ProbeError(f"--config {config}: no such file")
    if reads and not (judge and corpus is None):
        corpus = find_corpus(corpus, download)
    found: dict[str, Any] = {}
    failed: list[str] = []
    for one in chosen:
        text, own = corpus if one.needs_corpus else None, config if one.name == "sizes" else None
        settings = Settings(quick=quick, corpus=text, config=own)
        rows = lab.rows_of(one, settings, asked, out)
        try:
            if not judge:
                at_once = 1 if one.alone else processes or available_cores()
                lab.run_rows(
                    rows, at_once, lambda row, said: hint(f"{row.name} {row.key} seed {row.seed}: {said}", quiet)
                )
        finally:  # what was run before an interruption is judged and kept, with what earlier commands had run
            count = lab.seeds_there(one, settings, out) if asked is None else asked
            judged, section = lab.write_section(one, lab.rows_of(one, settings, count, out), settings, out)
        found[one.name] = [lab.as_dict(each) for each in judged]
        failed += [each.claim.statement for each in judged if each.failed]
        if not json:
            written = any(each.values for each in judged)
            said = (
                f"written to {lab.folder_of(one.name, settings, out)}/"
                if written
                else "no row was run with these settings yet"
            )
            print(f"{section}\n\n{said}\n")
    if json:
        print_json({"quick": quick, "reproductions": found})
    if failed:
        raise CheckFailed(f"{len(failed)} exact statements do not hold: {'; '.join(failed)}")
