"""One attention picture as a page that opens from disk, with nothing loaded from anywhere."""

from __future__ import annotations

from html import escape

from probe.figures.attention_svg import attention_svg
from probe.figures.view import AttentionView


def attention_page(view: AttentionView) -> str:
    """The picture under a policy that forbids loading, with what a screen reader needs."""
    title = escape(f"Attention: {view.title}")
    said = "".join(
        f"<li>after <q>{escape(' '.join(s.tokens[: s.query + 1]))}</q>: "
        + escape(", ".join(f"{word} {share:.1%}" for word, share in s.predictions[:3]))
        + "</li>"
        for s in view.sentences
    )
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>:root{{color-scheme:light dark}}
body{{font:15px system-ui,sans-serif;margin:1.5rem auto;max-width:75rem;padding:0 1rem}}
figure{{margin:0;overflow-x:auto}}figcaption{{max-width:45rem}}</style></head>
<body><h1>{title}</h1><ul>{said}</ul>
<figure tabindex="0">{attention_svg(view)}
<figcaption>Rows look, columns are looked at; the framed row has to name the next word. A map shows where a head looks,
not whether that causes the answer.</figcaption></figure></body></html>
"""
