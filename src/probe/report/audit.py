"""An audit as terminal text, a Markdown section, one HTML page. Every word that comes from the data is escaped."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

from probe.audit.result import AuditResult, Declared, Finding

_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>()#+\-.!|~$&])")
_HOLDS = {True: "holds", False: "DOES NOT HOLD", None: "not shown"}
_COLOURS = {"clean": "32", "cheatable": "31", "leaked": "35", "underpowered": "33"}


def plain(text: str) -> str:
    r"""Text for a terminal: control characters, which could move the cursor or hide a line, become �.

    >>> plain("a\x1b[2Jb")
    'a�[2Jb'
    """
    return "".join(character if character.isprintable() else "�" for character in text)


def escaped(text: str) -> str:
    r"""Text for a Markdown table: every mark that Markdown or HTML reads is escaped, one line.

    >>> escaped("a|b <eos>")
    'a\\|b &lt;eos&gt;'
    """
    one_line = " ".join(plain(text.replace("\n", " ")).split())
    return _MARKDOWN.sub(lambda m: {"<": "&lt;", ">": "&gt;", "&": "&amp;"}.get(m[1], "\\" + m[1]), one_line)


def _p(value: float) -> str:
    return "<.001" if value < 0.001 else f"{value:.3f}".lstrip("0") if value < 1 else "1"


def _share(value: float | None) -> str:
    return "" if value is None or value != value else f"{value:.3f}"


def _label(finding: Finding) -> str:
    return finding.auditor + (f" ({finding.tokens})" if finding.tokens == "raw" else "")


def _ceiling(result: AuditResult) -> str:
    verdict, reason = result.ceiling_verdict
    equal = f"; {result.ceiling.equal_bags:.0%} of the pairs have equal bags" if result.ceiling.equal_bags else ""
    return (
        f"exact order-blind ceiling {result.ceiling.accuracy:.3f}, with the last token {result.ceiling.with_last:.3f}: "
        f"{verdict} ({reason}){equal}"
    )


def _order(result: AuditResult) -> str:
    bits = result.order
    if bits is None:
        return ""
    return (
        f"order is worth {bits.difference:.2f} bits an answer [{bits.low:.2f}, {bits.high:.2f}] to a linear reader: "
        f"{bits.bag:.2f} from the bag, {bits.sequence:.2f} from the sequence (online codelength)"
    )


def _declared(result: AuditResult) -> list[str]:
    """What the task says of itself, and whether that is so."""

    def said(one: Declared) -> str:
        reached = "" if one.accuracy is None else f"{one.accuracy:.2f}, "
        return f"{one.cheat} ({reached}{_HOLDS[one.holds]})"

    lines = []
    for side, allowed in (("stop", False), ("allow", True)):
        named = ", ".join(said(one) for one in result.declared if one.allowed is allowed)
        lines += [f"declared to {side} {named}"] if named else []
    if result.undeclared:
        leaks = result.undeclared.startswith("leaks by")
        said_of_it = f"it {result.undeclared}" if leaks else f"{result.undeclared} answers it"
        lines.append(f"NOT DECLARED: {said_of_it}, and the task does not say that it allows this")
    return lines


def _model(result: AuditResult) -> list[str]:
    if result.retention is None or result.certificate is None:
        return []
    kept, seal = result.retention, result.certificate
    retained = (
        "nothing to keep"
        if kept.retention != kept.retention
        else f"{kept.retention:.2f} [{kept.low:.2f}, {kept.high:.2f}]"
    )
    lines = [
        f"model: accuracy {kept.intact.mean:.3f}, shuffled {kept.shuffled.mean:.3f} "
        f"({kept.shuffles} shuffles, {kept.n} prompts); "
        f"shuffle retention {retained} (0: all of it needs order, 1: none)"
    ]
    if seal.holds:
        lines.append(
            "permutation certificate: no answer moved under any shuffle; "
            f"at most {seal.changed_at_most:.2%} of questions do (95 %)"
        )
    else:
        lines.append(f"permutation certificate: refused, {1 - seal.invariant:.1%} of the answers moved under a shuffle")
    return lines


def terminal(result: AuditResult, *, colour: bool = False, details: bool = False) -> str:
    """The audit in 80 columns or a little more: verdict, accounting, one line an auditor, what tells."""
    word = f"\x1b[1;{_COLOURS[result.verdict]}m{result.verdict}\x1b[0m" if colour else result.verdict
    reading = result.reading
    lines = [f"{plain(reading.source)}: {word}", f"  {plain(result.headline)}"]
    lines.append(f"  read as {plain(reading.format)}; {reading.accounting()}")
    lines += [f"    {reading.unit} {p.record}: {plain(p.reason)}" for p in reading.problems[: 20 if details else 3]]
    if reading.malformed > 3 and not details:
        lines.append(f"    … {reading.malformed - 3} more (--details)")
    lines.append(f"  {plain(result.groups)}")
    lines.append(f"  margin {result.margin:g} declared, chance {result.chance:.3f}; {_ceiling(result)}")
    lines.append("")
    lines.append("  auditor                 accuracy  95 % interval   p(Holm)   bits  verdict")
    for blind in (True, False):
        if not blind:
            lines.append("  -- with some order: these do not count, they say how little order suffices --")
        for f in result.findings:
            if f.counts == blind and (f.tokens != "raw" or details or f.verdict not in ("clean", "underpowered")):
                lines.append(
                    f"  {plain(_label(f)):<24}{f.accuracy:>7.3f}   [{f.low:.3f}, {f.high:.3f}] {_p(f.p_holm):>8}"
                    f" {f.bits:>+7.2f}  {f.verdict}"
                    + (
                        f"; as shipped {f.shipped:.2f}"
                        if f.shipped is not None and abs(f.shipped - f.accuracy) > 0.05
                        else ""
                    )
                )
    for leak in result.leaks:
        if leak.shared:
            lines.append(
                f"  {'LEAK' if leak.leaked else 'shared'} {leak.relation}: {leak.shared:.0%} of the test side, "
                f"{leak.flipped:.0%} with another answer; a lookup scores {leak.lookup.mean:.2f}"
            )
    telling = [
        f for f in result.findings if f.counts and f.auditor in result.by[:1] and f.tokens == result.findings[0].tokens
    ]
    for f in telling:
        if f.weights:
            lines.append(
                f"  tells most for {plain(f.auditor)}: "
                + ", ".join(f"{plain(name)} {w:+.1f}" for name, w in f.weights[:6])
            )
        lines += [f"    e.g. {plain(example)}" for example in f.examples]
    strong = [token for token in result.tokens if token.p < 0.05][: 12 if details else 5]
    if strong:
        lines.append(
            "  single tokens (z): " + ", ".join(f"{plain(t.feature)} {t.right}/{t.n} ({t.z:+.1f})" for t in strong)
        )
    lines += [f"  {plain(line)}" for line in (*_declared(result), _order(result), *_model(result)) if line]
    lines += [f"  note: {plain(note)}" for note in (*reading.notes, *result.notes)]
    return "\n".join(lines) + "\n"


def markdown(results: Sequence[AuditResult]) -> str:
    """A section: a table of verdicts, then a table of auditors for each data set."""
    lines = [
        "## Order-blind audit",
        "",
        "| data | verdict | questions | groups | chance | ceiling | why |",
        "|---|---|---|---|---|---|---|",
    ]
    for r in results:
        lines.append(
            f"| {escaped(r.reading.source)} | **{r.verdict}** | {len(r.reading.questions)} | {r.clusters} "
            f"| {r.chance:.2f} | {r.ceiling.accuracy:.3f} | {escaped(r.headline)} |"
        )
    lines += [
        "",
        f"Margin {results[0].margin:g}, declared beforehand. Accuracy in grouped folds, 95 % cluster-bootstrap "
        "intervals, p by permutation, Holm-corrected."
        if results
        else "",
    ]
    for r in results:
        lines += ["", f"### {escaped(r.reading.source)}", ""]
        lines += [
            f"- {escaped(r.reading.accounting())}; read as {escaped(r.reading.format)}",
            f"- {escaped(r.groups)}",
            f"- {escaped(_ceiling(r))}",
        ]
        lines += [
            f"- {escaped(line)}" for line in (*_declared(r), _order(r), *_model(r), *r.reading.notes, *r.notes) if line
        ]
        lines += [
            "",
            "| auditor | counts | accuracy | 95 % interval | p (Holm) | pairs | bits | as shipped | verdict |",
            "|---|---|---|---|---|---|---|---|---|",
        ]
        for f in r.findings:
            lines.append(
                f"| {escaped(_label(f))} | {'yes' if f.counts else 'no'} | {f.accuracy:.3f} "
                f"| {f.low:.3f} – {f.high:.3f} | {escaped(_p(f.p_holm))} | {_share(f.pair_accuracy)} "
                f"| {f.bits:+.2f} | {_share(f.shipped)} | {f.verdict} |"
            )
    return "\n".join(lines) + "\n"


def page(results: Sequence[AuditResult]) -> str:
    """One HTML page that opens from disk and loads nothing."""
    body = "".join(_section(result) for result in results)
    rows = "".join(
        f'<tr><td><a href="#a{i}">{_h(r.reading.source)}</a></td><td class="{r.verdict}">{r.verdict}</td>'
        f"<td>{len(r.reading.questions)}</td><td>{r.clusters}</td><td>{_h(r.headline)}</td></tr>"
        for i, r in enumerate(results)
    )
    for i in range(len(results)):
        body = body.replace('<section id="">', f'<section id="a{i}">', 1)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Order-blind audit</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>{_STYLE}</style></head><body>
<h1>Order-blind audit</h1>
<table><thead><tr><th>data</th><th>verdict</th><th>questions</th><th>groups</th><th>why</th></tr></thead><tbody>{rows}</tbody></table>
{body}
</body></html>
"""


_STYLE = """
:root { color-scheme: light dark; --line: #8886; --bar: #2b6cb0; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 62rem; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; margin: .8rem 0; }
th, td { text-align: left; padding: .15rem .5rem; border-bottom: 1px solid var(--line); vertical-align: top; }
td.n { text-align: right; font-variant-numeric: tabular-nums; }
.clean { color: #2f855a; } .cheatable { color: #c53030; } .leaked { color: #97266d; } .underpowered { color: #b7791f; }
.aware { opacity: .65; } svg { display: block; } small { opacity: .75; }
"""


def _h(text: str) -> str:
    return html.escape(plain(text.replace("\n", " ")), quote=True)


def _bar(finding: Finding, margin: float) -> str:
    """The interval on a line from 0 to 1, chance marked, the margin shaded."""
    x = lambda share: f"{share * 150:.1f}"  # noqa: E731
    title = f"{finding.accuracy:.3f} [{finding.low:.3f}, {finding.high:.3f}]"
    return (
        f'<svg width="150" height="12" role="img" aria-label="{title}"><title>{title}</title>'
        f'<rect x="{x(finding.chance)}" y="0" width="{x(margin)}" height="12" fill="#8883"/>'
        f'<line x1="{x(finding.chance)}" x2="{x(finding.chance)}" y1="0" y2="12" stroke="#888"/>'
        f'<line x1="{x(finding.low)}" x2="{x(finding.high)}" y1="6" y2="6" stroke="#2b6cb0" stroke-width="3"/>'
        f'<circle cx="{x(finding.accuracy)}" cy="6" r="3" fill="#2b6cb0"/></svg>'
    )


def _numbers(f: Finding) -> str:
    cells = (
        f"{f.accuracy:.3f}",
        f"{f.low:.3f} – {f.high:.3f}",
        _p(f.p_holm),
        _share(f.pair_accuracy),
        f"{f.bits:+.2f}",
        _share(f.shipped),
    )
    return "".join(f'<td class="n">{_h(cell)}</td>' for cell in cells)


def _section(result: AuditResult) -> str:
    reading = result.reading
    facts = [
        reading.accounting(),
        f"read as {reading.format}",
        result.groups,
        _ceiling(result),
        *_declared(result),
        _order(result),
        *_model(result),
    ]
    facts += [*reading.notes, *result.notes, *(f"{reading.unit} {p.record}: {p.reason}" for p in reading.problems)]
    facts += [leak.reason for leak in result.leaks if leak.leaked]
    rows = "".join(
        f'<tr class="{"" if f.counts else "aware"}"><td title="{_h(f.what)}">{_h(_label(f))}</td>'
        f"<td>{_bar(f, result.margin)}</td>{_numbers(f)}"
        f'<td class="{f.verdict}">{f.verdict}</td><td><small>{_h(f.reason)}</small></td></tr>'
        for f in result.findings
    )
    telling = next((f for f in result.findings if f.auditor in result.by[:1]), None)
    examples = ""
    if telling and telling.examples:
        weights = ", ".join(f"{_h(name)} {weight:+.2f}" for name, weight in telling.weights)
        items = "".join(f"<li>{_h(example)}</li>" for example in telling.examples)
        examples = f"<h3>What tells: {_h(telling.auditor)}</h3><p>{weights}</p><ol>{items}</ol>"
    return (
        f'<section id=""><h2>{_h(reading.source)}: <span class="{result.verdict}">{result.verdict}</span></h2>'
        f"<p>{_h(result.headline)}. Margin {result.margin:g}, chance {result.chance:.3f}.</p>"
        f"<ul>{''.join(f'<li>{_h(fact)}</li>' for fact in facts if fact)}</ul>"
        "<table><thead><tr><th>auditor</th><th>0 … 1</th><th>accuracy</th><th>95 %</th><th>p (Holm)</th><th>pairs</th>"
        f"<th>bits</th><th>as shipped</th><th>verdict</th><th>why</th></tr></thead><tbody>{rows}</tbody></table>"
        f"<p><small>Faded rows see some order; they do not count.</small></p>{examples}</section>"
    )
