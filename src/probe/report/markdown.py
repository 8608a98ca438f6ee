"""The same report as Markdown for GitHub, with its drawings as SVG files beside it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from probe.report.document import Cell, Figure, Lines, Panel, Report, Sentences, Table

GAP = 16.0
NUMBERS = "probe-numbers"
"""Marks the comment that carries the stated numbers."""


def markdown(report: Report, folder: str) -> tuple[str, dict[str, str]]:
    """The text, and the drawings by file name; the text looks for them in `folder`, beside it."""
    lines = [f"# {escaped(report.title)}", "", escaped(report.subtitle), "", "**In short**", ""]
    lines += [f"- {escaped(said)}" for said in report.summary]
    drawn: dict[str, str] = {}
    for section in report.sections:
        lines += ["", f"## {escaped(section.title)}"]
        for said in section.says:
            lines += ["", escaped(said)]
        for part in section.parts:
            lines.append("")
            if isinstance(part, Figure):
                drawn[f"{part.name}.svg"] = sheet(part)
                lines += [f"### {escaped(part.title)}", "", escaped(part.says), ""]
                lines += [f"![{escaped(part.title)}]({folder}/{part.name}.svg)", "", f"<sub>{escaped(part.note)}</sub>"]
            elif isinstance(part, Table):
                lines += list(_table(part))
            elif isinstance(part, Sentences):
                lines += list(_sentences(part))
            else:
                lines += list(_lines(part))
    lines += ["", f"<!-- {NUMBERS} {_comment(report.numbers)} -->", ""]
    return "\n".join(lines), drawn


def escaped(text: str) -> str:
    r"""Text that Markdown and HTML read as itself, on one line.

    >>> print(escaped("<eos> *a* | b"))
    \<eos\> \*a\* \| b
    """
    return re.sub(r"([\\`*_{}\[\]<>&#|$~!])", r"\\\1", " ".join(text.split()))


def code(text: str) -> str:
    """A code span, fenced by more backticks than stand in it."""
    fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    return f"{fence} {text} {fence}" if "`" in text else f"{fence}{text}{fence}"


def sheet(figure: Figure) -> str:
    """All panels of a figure in one SVG: a row for each group."""
    placed, y, width = [], 0.0, 1.0
    for _, panels in groupby(figure.panels, key=lambda panel: panel.group):
        x, tallest = 0.0, 0.0
        for panel in panels:
            across, down = size(panel)
            placed.append(panel.svg.strip().replace("<svg ", f'<svg x="{x:g}" y="{y:g}" ', 1))
            x, tallest = x + across + GAP, max(tallest, down)
        y, width = y + tallest + GAP, max(width, x - GAP)
    height = max(1.0, y - GAP)
    if len(placed) == 1:
        return figure.panels[0].svg
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {width:g} {height:g}">{"".join(placed)}</svg>\n'
    )


def size(panel: Panel) -> tuple[float, float]:
    """Width and height that a drawing asks for, in px."""
    found = re.search(r'width="([\d.]+)" height="([\d.]+)"', panel.svg)
    assert found, "every drawing of ours says how large it is"
    return float(found[1]), float(found[2])


def _table(table: Table) -> Iterator[str]:
    yield f"### {escaped(table.title)}"
    yield ""
    yield escaped(table.says)
    yield ""
    if table.folded:
        yield f"<details><summary>{len(table.rows)} rows</summary>"
        yield ""
    yield "| " + " | ".join(escaped(column) for column in table.columns) + " |"
    numeric = [
        bool(table.rows) and not isinstance(cell, str) for cell in (table.rows[0] if table.rows else table.columns)
    ]
    yield "|" + "|".join("--:" if number else "---" for number in numeric) + "|"
    for row in table.rows:
        yield "| " + " | ".join(escaped(_text(cell)) for cell in row) + " |"
    if table.folded:
        yield ""
        yield "</details>"
    if table.note:
        yield ""
        yield f"<sub>{escaped(table.note)}</sub>"


def _text(cell: Cell) -> str:
    return cell if isinstance(cell, str) else cell.text


def _sentences(part: Sentences) -> Iterator[str]:
    for number, tokens in enumerate(part.tokens):
        after = f" {escaped(part.after[number])}" if part.after else ""
        changed = [code(tokens[i]) for i in part.changed if i < len(tokens)]
        yield f"- {code(' '.join(tokens))}{after}" + (f" (changed: {', '.join(changed)})" if changed else "")


def _lines(part: Lines) -> Iterator[str]:
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", part.text) or [""]))
    if part.folded:
        yield f"<details><summary>{escaped(part.title)}</summary>"
    else:
        yield f"### {escaped(part.title)}"
    yield ""
    yield fence
    yield part.text
    yield fence
    if part.folded:
        yield ""
        yield "</details>"


def _comment(numbers: Any) -> str:
    """JSON that cannot end the comment it stands in."""
    said = json.dumps(numbers, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return said.replace("<", "\\u003c").replace(">", "\\u003e").replace("--", "-\\u002d")
