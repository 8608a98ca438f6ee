"""Small HTML for notebooks: a table and a paragraph, every word escaped, no style of their own.

A notebook's page gives tables and text their colours, so what stands here reads in light and dark alike.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any


def paragraph(text: str, *, bold: str = "") -> str:
    """A paragraph, opened by a few words in bold.

    >>> paragraph("2 < 3", bold="a & b")
    '<p><b>a &amp; b</b> 2 &lt; 3</p>'
    """
    opened = f"<b>{escape(bold)}</b> " if bold else ""
    return f"<p>{opened}{escape(text)}</p>"


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table with a line of headings.

    >>> table(["word", "share"], [["<eos>", 0.5]])
    '<table><thead><tr><th>word</th><th>share</th></tr></thead><tbody><tr><td>&lt;eos&gt;</td><td>0.500</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell(value))}</td>' for value in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def cell(value: Any) -> str:
    """A value as a table shows it: three decimals, four digits where that leaves nothing, – where there is none.

    >>> [cell(value) for value in (0.25, 3.0, 2.5e-8, float("nan"), None, 7, True, "word")]
    ['0.250', '3.000', '2.5e-08', '–', '–', '7', 'True', 'word']
    """
    if value is None or type(value).__name__ == "NAType":
        return "–"
    if not isinstance(value, float):
        return str(value)
    if math.isnan(value):
        return "–"
    return f"{value:.1e}" if value and abs(value) < 5e-4 else f"{value:.3f}"
