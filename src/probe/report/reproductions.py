"""A reproduction as a section: the chapter's figures beside ours, each with its rule and its verdict. No torch.

The same table goes to the terminal, to Markdown and to a page that opens from disk with nothing loaded.
"""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape

from probe.intervals import bootstrap_interval
from probe.reproductions.claims import Judged, Reproduction

QUICK = "QUICK: small models and few steps. It shows that everything runs; what is measured is not judged."
Notes = Sequence[tuple[str, str]]
"""Titles and lines of text."""
HEADER = ("statement", "the chapter", "ours", "rule", "verdict")
_PAGE = """:root{color-scheme:light dark}
body{font:15px system-ui,sans-serif;margin:1.5rem auto;max-width:72rem;padding:0 1rem}
table{border-collapse:collapse;width:100%}th,td{text-align:left;vertical-align:top;padding:.3rem .6rem;
border-bottom:1px solid #8884}td:nth-child(2),td:nth-child(3){font-variant-numeric:tabular-nums;white-space:nowrap}
.agrees{color:#1a7f37}.differs{color:#d1242f;font-weight:700}.depends{color:#9a6700;font-weight:700}.not{color:#6e7781}
img{max-width:100%;background:#fff}pre{overflow-x:auto;font-size:12px}.w{overflow-x:auto}"""


def ours(one: Judged) -> str:
    """Our number: the mean over seeds, its 95 % interval (bootstrap over seeds), and how many seeds.

    One seed has no spread, and says so.
    """
    values = list(one.values.values())
    if not values:
        return ""
    form = one.claim.form
    mean = sum(values) / len(values)
    if len(values) == 1:
        return format(mean, form)
    if max(values) == min(values):
        return f"{mean:{form}}, {len(values)} seeds"
    low, high = bootstrap_interval(values)
    return f"{mean:{form}} [{low:{form}}, {high:{form}}], {len(values)} seeds"


def said(one: Judged) -> str:
    """The verdict and what it rests on."""
    return f"{one.verdict} ({one.why})" if one.why else one.verdict


def counts(judged: Sequence[Judged]) -> str:
    """How often which verdict was given."""
    found = Counter(one.verdict for one in judged)
    order = ("agrees", "differs", "depends on the seed", "not run", "not judged")
    return " · ".join(f"{verdict} {found[verdict]}" for verdict in order if found[verdict])


def cells(one: Judged) -> tuple[str, str, str, str, str]:
    """A line of the table."""
    rule = "" if one.claim.rule is None else one.claim.rule.says
    return one.claim.statement, one.claim.chapter, ours(one), rule, said(one)


def section_text(reproduction: Reproduction, judged: Sequence[Judged], notes: Notes, quick: bool) -> str:
    """For the terminal: two lines a claim, so that it fits 100 columns."""
    lines = [f"{reproduction.name}: {reproduction.title}", *([QUICK] if quick else []), ""]
    for one in judged:
        statement, chapter, own, rule, verdict = cells(one)
        lines.append(f"  {statement}")
        said_by = [
            f"chapter {chapter}" if chapter else "",
            f"ours {own}" if own else "",
            f"rule: {rule}" if rule else "",
        ]
        verdict = verdict.replace("differs", "DIFFERS")
        lines.append("      " + "   ".join([verdict, *filter(None, said_by)]))
    for title, text in notes:
        lines += ["", f"  {title}:", *(f"    {line}" for line in text.splitlines())]
    return "\n".join([*lines, "", counts(judged)])


def section_markdown(
    reproduction: Reproduction,
    judged: Sequence[Judged],
    notes: Notes,
    made_with: Mapping[str, str],
    figures: Sequence[str],
    quick: bool,
) -> str:
    """The section as Markdown; `figures` are file names beside it, `made_with` the settings behind the numbers."""
    lines = [f"# `{reproduction.name}`: {_markdown(reproduction.title)}", ""]
    lines += [f"**{QUICK}**", ""] if quick else []
    lines += [_markdown(reproduction.setting) + ".", "", f"{counts(judged)}", ""]
    lines += ["| " + " | ".join(HEADER) + " |", "|" + "---|" * len(HEADER)]
    lines += ["| " + " | ".join(_markdown(cell) for cell in cells(one)) + " |" for one in judged]
    for name in figures:
        lines += ["", f"![{_markdown(name)}](figures/{name}.svg)"]
    for title, text in notes:
        lines += ["", f"{_markdown(title)}:", "", *(f"    {line}" for line in text.splitlines())]
    lines += ["", "Made with: " + "; ".join(f"{_markdown(k)} {_markdown(v)}" for k, v in made_with.items()) + ".", ""]
    return "\n".join(lines)


def section_html(
    reproduction: Reproduction,
    judged: Sequence[Judged],
    notes: Notes,
    made_with: Mapping[str, str],
    pictures: Mapping[str, bytes],
    quick: bool,
) -> str:
    """The section as a page of its own: pictures (PNG) inside, everything escaped, nothing loaded."""
    title = escape(f"{reproduction.name}: {reproduction.title}")
    head = "".join(f"<th scope=col>{cell}</th>" for cell in HEADER)
    rows = []
    for one in judged:
        *plain, verdict = (escape(cell) for cell in cells(one))
        css = one.verdict.split()[0]
        rows.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in plain) + f'<td class="{css}">{verdict}</td></tr>')
    images = "".join(
        f'<figure><img alt="{escape(name)}" src="data:image/png;base64,{base64.b64encode(png).decode()}"></figure>'
        for name, png in pictures.items()
    )
    texts = "".join(f"<h2>{escape(name)}</h2><pre>{escape(text)}</pre>" for name, text in notes)
    made = escape("; ".join(f"{key} {value}" for key, value in made_with.items()))
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_PAGE}</style></head>
<body><h1>{title}</h1>{f"<p><strong>{escape(QUICK)}</strong></p>" if quick else ""}
<p>{escape(reproduction.setting)}.</p><p>{escape(counts(judged))}</p>
<div class="w"><table><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>
{images}{texts}<p>Made with: {made}.</p></body></html>
"""


def _markdown(text: str) -> str:
    """Text that Markdown leaves as it is, inside a table too."""
    for mark in "\\`*_[]<>|#":
        text = text.replace(mark, f"\\{mark}")
    return text.replace("\n", " ")
