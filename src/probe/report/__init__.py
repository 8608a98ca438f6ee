"""Results and figures, put before a reader: terminal, page, Markdown. No torch."""
