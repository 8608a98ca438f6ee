"""A report as plain text for a terminal: its sentences and its tables; what is folded away stays away."""

from __future__ import annotations

from collections.abc import Iterator

from probe.report.document import Cell, Lines, Report, Sentences, Table


def report_text(report: Report) -> str:
    """All that a report says without its drawings."""
    return "\n".join(_said(report))


def _said(report: Report) -> Iterator[str]:
    yield report.title
    yield report.subtitle
    for section in report.sections:
        yield f"\n{section.title.upper()}"
        yield from section.says
        for part in section.parts:
            if isinstance(part, Table) and not part.folded:
                yield f"\n{part.says}"
                yield from _table(part)
            elif isinstance(part, Sentences):
                yield from ("  " + " ".join(tokens) for tokens in part.tokens)
            elif isinstance(part, Lines) and not part.folded:
                yield from ("  " + line for line in part.text.splitlines())
            elif not isinstance(part, Table | Lines):
                yield part.says


def _table(table: Table) -> Iterator[str]:
    """Columns as wide as their widest cell; numbers to the right."""
    lines = [table.columns, *([_text(cell) for cell in row] for row in table.rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(table.columns))]
    first = table.rows[0] if table.rows else table.columns
    right = [not isinstance(cell, str) for cell in first]
    for line in lines:
        cells = (c.rjust(w) if r else c.ljust(w) for c, w, r in zip(line, widths, right, strict=True))
        yield f"  {'   '.join(cells)}".rstrip()


def _text(cell: Cell) -> str:
    return cell if isinstance(cell, str) else cell.text
