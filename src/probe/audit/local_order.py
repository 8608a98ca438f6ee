"""Not a cheat, a measure: local order. What n-grams, places, and the order of mention can do.

A question that needs order need not need *binding*. These auditors see order, so they do not count against a data set;
they keep "needs order" from being sold as more than it is.
"""

from __future__ import annotations

from probe.audit.choice import Features
from probe.audit.material import NO_ROLE, Material
from probe.audit.single import placed_tokens


def ngrams(material: Material, i: int) -> list[Features]:
    """Bigrams and trigrams of a sentence with its ends marked; for a candidate those around its first mention."""
    if material.kind != "cloze":
        texts = [material.prompts[i]] if material.kind == "label" else material.options[i]
        return [_grams(("^", *text, "$")) for text in texts]
    prompt = ("^", *material.prompts[i], "$")
    rows = []
    for option, place in zip(material.options[i], material.mentions[i], strict=True):
        if place == NO_ROLE:
            rows.append({"not mentioned": 1.0})
            continue
        end = place + 1 + len(option)
        left, right = prompt[max(0, place - 1) : place + 1], prompt[end : end + 2]
        rows.append(_grams((*left, "_", *right)) | {f"{' '.join(option)} {w}": 1.0 for w in right[:1]})
    return rows


def _grams(tokens: tuple[str, ...]) -> Features:
    """Bigrams and trigrams.

    >>> list(_grams(("a", "b", "c")))
    ['a b', 'b c', 'a b c']
    """
    return {" ".join(tokens[j : j + n]): 1.0 for n in (2, 3) for j in range(len(tokens) - n + 1)}


def places(material: Material, i: int) -> list[Features]:
    """Position-unigrams: each token with its place; for a candidate where it is mentioned, alone and with its name."""
    if material.kind != "cloze":
        return placed_tokens(material, i)
    return [
        {f"@{place}": 1.0, f"{' '.join(option)} @{place}": 1.0}
        for option, place in zip(material.options[i], material.mentions[i], strict=True)
    ]


def mention_and_word(material: Material, i: int) -> list[Features]:
    """Order of mention with each word of the prompt: "tired" speaks of the first noun. Solves winograd-hard."""
    mentions = material.mentions[i]
    ranks = {m: rank for rank, m in enumerate(sorted(m for m in mentions if m != NO_ROLE))}
    names = [f"mention {ranks[m] + 1}" if m != NO_ROLE else "not mentioned" for m in mentions]
    prompt = sorted(set(material.prompts[i]))
    return [{f"{name} × {word}": 1.0 for word in prompt} | {name: 1.0} for name in names]
