"""A report as one HTML file that opens from disk: nothing is loaded, and its own policy forbids it.

The policy names the hash of the one script, so that no other can run, whatever a word of a model looks like. Styles of
drawings stand once in the head instead of once in each.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from itertools import groupby
from typing import Any

import numpy as np
from jinja2 import Environment
from markupsafe import Markup

from probe.figures.drawing import Drawing
from probe.figures.svg import stylesheet, to_svg
from probe.report.document import Figure, Maps, Number, Panel, Part, Report
from probe.result import versions

_STYLE = re.compile("<style>.*?</style>", re.DOTALL)
_BLANK_CELL = re.compile(
    r'<rect(?: class="f-\w+")? x="[\d.]+" width="[\d.]+" height="[\d.]+" fill-opacity="(?:0|\.00\d)" [^>]*>'
    r'(?:<title>[^<]*</title>)?</rect><text class="f-quiet n"[^>]*>0</text>'
)
_WRITTEN_CELL = re.compile(
    r'(<rect[^>]*?)( data-column="\d+")?( data-value="[^"]*")?><title>[^<]*</title></rect>(?=<text)'
)
_BAR = re.compile(r'(<path[^>]*?) data-bar="[^>]*><title>[^<]*</title></path>')
_LEAN = ((_BLANK_CELL, ""), (_WRITTEN_CELL, r"\1/>"), (_BAR, r"\1/>"))
"""The size of a page lies in cells and bars: one that is as good as 0 says no more than its ground, and a value
that is written beside its mark needs no title."""
_XMLNS = ' xmlns="http://www.w3.org/2000/svg"'
LARGEST = 48
"""Maps of more words are pictures, and their values are read from the pixels."""


def page(report: Report) -> str:
    """Render a report."""
    script = _tight(_file("page.js"))
    return _template().render(
        report=report,
        version=versions()["probe-circuits"],
        policy=_policy(script),
        css=Markup(_tight(_file("page.css"))),
        script=Markup(script),
        figure_css=Markup(_figure_rules()),
        numbers=_json(report.numbers),
        data=_json(_map_data(report)),
        last_step=max(0, len(report.maps.steps) - 1),
        kind_of=_kind_of,
        reads_as=_reads_as,
        groups=_groups,
        svg=_svg,
    )


def _policy(script: str) -> str:
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'; "
        "base-uri 'none'; form-action 'none'"
    )


@cache
def _file(name: str) -> str:
    return (files("probe.report.page") / name).read_text(encoding="utf-8")


def _tight(source: str) -> str:
    """Without indentation and comment lines, which a page does not need."""
    lines = (line.strip() for line in source.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//"))


@cache
def _template() -> Any:
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters["joined"] = lambda said: said.replace(" %", "\u00a0%")  # no line begins with a percent sign
    return environment.from_string(_file("page.html"))


def _figure_rules() -> str:
    """The rules of all drawings: those that an empty one carries, and every ink in light and dark."""
    empty = _STYLE.search(to_svg(Drawing(title="", width=1, height=1, marks=())))
    base = empty.group().removeprefix("<style>").removesuffix("</style>") if empty else ""
    return f"{base}{stylesheet('light')}@media (prefers-color-scheme:dark){{{stylesheet('dark')}}}"


def _kind_of(part: Part) -> str:
    return type(part).__name__


def _reads_as(cell: Number) -> bool:
    """Whether a cell sorts by its text alone."""
    try:
        return abs(float(cell.text) - cell.value) <= 0.005
    except ValueError:
        return False


def _groups(figure: Figure) -> Iterator[tuple[str, list[Panel]]]:
    """Panels that follow each other under one name."""
    for name, panels in groupby(figure.panels, key=lambda panel: panel.group):
        yield name, list(panels)


def _svg(panel: Panel) -> Markup:
    """A drawing without its own styles; drawings escape every word themselves."""
    said = _STYLE.sub("", panel.svg, count=1).replace(_XMLNS, "", 1)
    for pattern, instead in _LEAN:
        said = pattern.sub(instead, said)
    return Markup(said)


def _json(value: Any) -> Markup:
    """JSON that cannot end the script element it stands in."""
    said = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for letter in "<>&\u2028\u2029":
        said = said.replace(letter, f"\\u{ord(letter):04x}")
    return Markup(said)


def _map_data(report: Report) -> dict[str, Any]:
    maps = report.maps
    return {
        "tokens": maps.tokens,
        "sentence": maps.sentence,
        "maps": {key: packed(values) for key, values in maps.values.items() if len(values) <= LARGEST},
        "steps": maps.steps,
        "said": maps.said,
        "along": _along(maps),
        "edges": {
            part.name: part.edges
            for section in report.sections
            for part in section.parts
            if isinstance(part, Figure) and part.edges
        },
    }


def _along(maps: Maps) -> dict[str, list[str]]:
    return {key: [packed(values) for values in of_steps] for key, of_steps in maps.along.items()}


def packed(values: np.ndarray) -> str:
    """The lower triangle, row by row, a byte a cell, in base64.

    >>> packed(np.array([[1.0, 0.0], [0.0, 1.0]]))
    '/wD/'
    """
    query, key = np.tril_indices(len(values))
    return base64.b64encode(np.rint(values[query, key] * 255).clip(0, 255).astype(np.uint8).tobytes()).decode()
