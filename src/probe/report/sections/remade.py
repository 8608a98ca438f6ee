"""How to reproduce: the commands, the manifest, what each number means and where it comes from."""

from __future__ import annotations

import shlex

from probe.files import to_json
from probe.report.document import Lines, Section, Table
from probe.report.material import Material


def remade(material: Material) -> Section:
    """Everything that is needed to make this page again."""
    run, manifest = material.run, material.run.manifest
    kept = material.results
    source = next(iter(kept.values())).provenance if kept else None
    made = manifest.get("argv", [])
    commands = [
        shlex.join(["probe", *made]) if made else "# made from Python, with the settings that the manifest below names",
        f"probe report {run.name}",
        f"probe verify {run.name}",
    ]
    versions = ", ".join(f"{name} {version}" for name, version in manifest["versions"].items())
    says = [
        f"Made with {versions}; {manifest['threads']} thread{'s' if manifest['threads'] > 1 else ''}, "
        f"{manifest['dtype']}; git commit {manifest['git_commit'] or 'unknown'}.",
        f"Sentences: SHA-256 {manifest['data_sha256'][:16]}…; task {manifest['task_digest'][:16]}…"
        + (f"; weights {source.model_digest[:16]}…." if source else "."),
    ]
    if material.missing:
        gone = "; ".join(f"{name}: {reason}" for name, reason in material.missing.items())
        says.append(f"Left out of this report, with the reason: {gone}.")
    alike: dict[tuple[str, ...], list[str]] = {}
    for name, result in sorted(kept.items()):
        maximum = "–" if result.maximum is None else f"{result.maximum:g}"
        alike.setdefault((result.unit, maximum, result.floor, result.convention), []).append(name)
    meanings = tuple((", ".join(names), *meaning) for meaning, names in alike.items())
    return Section(
        name="reproduce",
        title="How to reproduce",
        says=tuple(says),
        parts=(
            Lines(title="Commands", text="\n".join(commands)),
            Table(
                name="meanings",
                title="What the numbers mean",
                says="Unit, maximum, floor and convention of every result on this page.",
                columns=("result", "unit", "maximum", "floor", "convention"),
                rows=meanings,
                folded=True,
            ),
            Lines(title="Manifest", text=to_json(dict(manifest)), folded=True),
        ),
    )
