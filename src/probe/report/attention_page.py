"""One attention picture as a page that opens from disk: the part of a report that says where a model looks."""

from __future__ import annotations

from probe.figures.view import AttentionView
from probe.report.attention import maps_figure, maps_of_view, row_table, token_lines
from probe.report.document import Part, Report, Section
from probe.report.page import page


def attention_page(view: AttentionView) -> str:
    """The maps of a view under a policy that forbids loading; cells can be pointed at where there is a script."""
    parts: list[Part] = [token_lines(view), maps_figure(view, means=True), row_table(view)]
    if view.heads:
        parts.insert(2, maps_figure(view, means=False))
    says = ("A map shows where a head looks, not whether that causes the answer.",)
    return page(
        Report(
            title=f"Attention: {view.title}",
            subtitle="",
            summary=(),
            sections=(Section(name="looks", title="Where it looks", says=says, parts=tuple(parts)),),
            numbers={},
            maps=maps_of_view(view),
        )
    )
