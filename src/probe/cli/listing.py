"""`probe tasks`, `probe runs` and `probe doctor`: what there is."""

from __future__ import annotations

from pathlib import Path

from probe.cli.options import AsJson, RunsDir, print_json
from probe.errors import ProbeError
from probe.processes import available_cores


def tasks(json: AsJson = False) -> None:
    """List the tasks, with the cheats that each one allows."""
    from probe.tasks.spec import load_task, task_names

    specs = [load_task(name) for name in task_names()]
    if json:
        keys = ("name", "title", "language", "stops", "allows")
        print_json({"tasks": [{key: getattr(spec, key) for key in keys} for spec in specs]})
        return
    width = max(len(spec.name) for spec in specs)
    for spec in specs:
        allows = f"   allows: {', '.join(spec.allows)}" if spec.allows else ""
        print(f"{spec.name.ljust(width)}  {spec.title}{allows}")


def runs(runs: RunsDir = Path("runs"), json: AsJson = False) -> None:
    """List the runs, with their accuracy on held_out."""
    from probe import lab, store

    rows = []
    for name in store.run_names(runs):
        try:
            run = store.open_run(runs, name)
            rows.append(lab.summary(run) if run.finished else {"run": name, "finished": False})
        except ProbeError as error:
            rows.append({"run": name, "error": str(error)})
    if json:
        print_json({"runs": rows})
        return
    if not rows:
        print(f"no runs in {runs}; make one with: probe train")
    for row in rows:
        if "held_out" in row:
            accuracy = row["held_out"]["referent_accuracy"]
            print(f"{row['run']}  {row['variant']}  seed {row['seed']}  {row['steps']} steps  held_out {accuracy:.1%}")
        else:
            print(f"{row['run']}  {row.get('error', 'not finished; probe train --resume ' + row['run'])}")


def doctor(json: AsJson = False) -> None:
    """Say what probe finds on this machine."""
    import shutil

    from probe.result import versions
    from probe.tasks.spec import task_folder, task_names

    found = {
        "versions": versions(),
        "cores": available_cores(),
        "tasks": len(task_names()),
        "task_folder": str(task_folder()),
        "disk_free_gib": round(shutil.disk_usage(".").free / 2**30, 1),
    }
    if json:
        print_json(found)
        return
    for name, version in found["versions"].items():
        print(f"{name:16} {version}")
    print(f"{'cores':16} {found['cores']}")
    print(f"{'tasks':16} {found['tasks']} in {found['task_folder']}")
    print(f"{'free disk':16} {found['disk_free_gib']} GiB")
