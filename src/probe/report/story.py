"""The report on one run: sections in the order in which a reader asks, and the sentences that a hurried one needs."""

from __future__ import annotations

from typing import Any

from probe.report.document import Report, Section
from probe.report.material import Material, stated_numbers
from probe.report.sections.answered import answered
from probe.report.sections.asked import asked
from probe.report.sections.carried import carried
from probe.report.sections.causes import causes
from probe.report.sections.formed import formed
from probe.report.sections.headed import headed
from probe.report.sections.judged import judged
from probe.report.sections.looks import looks, maps_of
from probe.report.sections.present import present
from probe.report.sections.remade import remade
from probe.report.sections.works import works

SECTIONS = (asked, answered, works, looks, causes, judged, carried, headed, present, formed, remade)


def report_of(material: Material) -> Report:
    """Make the report; a section without results is left out."""
    made: list[Section | None] = [section(material) for section in SECTIONS]
    sections = tuple(section for section in made if section is not None)
    run, config = material.run, material.run.config
    return Report(
        title=f"What does {_article(run.manifest['variant'])} model look at, and does that cause its answer?",
        subtitle=f"{material.dataset.name} · {run.manifest['variant']} · seed {run.manifest['training']['seed']} · "
        f"{config['n_layers']} × {config['n_heads']} heads · {material.summary['steps']:,} steps · run {run.name}",
        summary=_summary(sections),
        sections=sections,
        numbers=numbers_of(material),
        maps=maps_of(material),
    )


def numbers_of(material: Material) -> dict[str, Any]:
    """What a report states, and of which weights and sentences."""
    manifest = material.run.manifest
    source = next((result.provenance for result in material.results.values()), None)
    return {
        "schema": 1,
        "run": material.run.name,
        "task_digest": manifest["task_digest"],
        "data_sha256": manifest["data_sha256"],
        "model_digest": source.model_digest if source else "",
        "counts": {
            "order_blind_ceiling": round(material.counts.ceiling, 6),
            "table_of_bags": round(material.counts.transfer.accuracy, 6),
            "parameters": sum(material.parameters.values()),
        },
        "results": stated_numbers(material.results),
    }


def _article(noun: str) -> str:
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"


def _summary(sections: tuple[Section, ...]) -> tuple[str, ...]:
    """The sentences over the first figures of the sections that carry the argument."""
    said = []
    for section in sections:
        if section.name == "causes":
            said += list(section.says[:1])
        for part in section.parts:
            if getattr(part, "name", "") in ("order", "accuracy", "means", "looks-and-causes", "training"):
                said.append(part.says)  # pyright: ignore[reportAttributeAccessIssue]
    return tuple(said)
