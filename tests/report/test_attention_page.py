"""The page opens from disk, loads nothing, and shows every word as it is."""

from __future__ import annotations

from html.parser import HTMLParser

from probe.report.attention_page import attention_page

PLAIN = {
    "html", "head", "meta", "title", "style", "body", "a", "div", "header", "h1", "h2", "h3", "h4", "p", "main",
    "section", "ol", "li", "bdi", "span", "figure", "figcaption", "button", "footer", "table", "thead", "tbody",
    "tr", "td", "th", "details", "summary", "script", "svg", "desc", "rect", "text", "tspan", "g", "path",
}  # fmt: skip


class Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.said = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.said += data


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    return reader


def test_a_page_forbids_loading_and_asks_for_nothing(make_view):
    page = attention_page(make_view(["the", "animal", "did"]))
    reader = read(page)
    assert page.startswith("<!doctype html>")
    assert ("http-equiv", "Content-Security-Policy") in reader.attributes
    assert any(
        value and value.startswith("default-src 'none'") for name, value in reader.attributes if name == "content"
    )
    assert not {"link", "img", "iframe", "base", "object"} & set(reader.tags)
    assert not any(name == "src" or name.startswith("on") for name, _ in reader.attributes)
    assert all(value == "#main" for name, value in reader.attributes if name == "href")


def test_hostile_words_are_words_in_a_page(make_view, hostile):
    reader = read(attention_page(make_view(hostile, [*hostile[:-1], "<other>"])))
    assert set(reader.tags) <= PLAIN
    for word in (*hostile, "<other>"):
        assert word in reader.said


def test_a_hostile_title_cannot_leave_the_title(make_view):
    page = attention_page(make_view(["a"], title="</title><script>alert(1)</script>"))
    assert page.count("<script") == 3 and "<script>alert" not in page
    assert page.count("</title>") == page.count("<title>")
