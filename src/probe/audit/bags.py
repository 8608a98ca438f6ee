"""Cheat: the words alone. Trained bags of words, and of unordered pairs of words.

Both know *which* words are there, never where. Pairs matter: single words read Marvin and Linzen's agreement sentences
as clean, while two words that must agree give them away.
"""

from __future__ import annotations

from itertools import combinations

from probe.audit.choice import Features
from probe.audit.material import Material


def words(material: Material, i: int) -> list[Features]:
    """Bag of words. A sentence: its words. A candidate: itself, its words, and itself *with* each word of the prompt.

    The last is what a mean of word vectors can do that is read out through an unembedding. Where the index of an
    option means something else than order of mention (Winogender: 0 is the occupation), also the index with each word.
    """
    if material.kind == "pair":
        return [dict.fromkeys(option, 1.0) for option in material.options[i]]
    if material.kind == "label":
        return [dict.fromkeys(material.prompts[i], 1.0)]
    prompt = sorted(set(material.prompts[i]))
    rows = []
    for k, option in enumerate(material.options[i]):
        name = " ".join(option)
        row = {f"{name} × {word}": 1.0 for word in prompt}
        row[f"is {name}"] = 1.0
        if len(option) > 1:
            row |= dict.fromkeys((f"has {word}" for word in option), 1.0)
            row |= {f"{part} × {word}": 1.0 for part in option for word in prompt}
        if not material.index_is_order:
            row |= {f"option {k} × {word}": 1.0 for word in prompt} | {f"option {k}": 1.0}
        rows.append(row)
    return rows


def pairs(material: Material, i: int) -> list[Features]:
    """Bag of unordered pairs of words, with the single words."""
    if material.kind == "pair":
        return [dict.fromkeys((*option, *_pairs(option)), 1.0) for option in material.options[i]]
    if material.kind == "label":
        return [dict.fromkeys((*material.prompts[i], *_pairs(material.prompts[i])), 1.0)]
    couples = _pairs(material.prompts[i])
    rows = words(material, i)
    for k, option in enumerate(material.options[i]):
        name = f"option {k}" if not material.index_is_order else " ".join(option)
        rows[k] = {**rows[k], **{f"{name} × {couple}": 1.0 for couple in couples}}
    return rows


def _pairs(tokens: tuple[str, ...]) -> list[str]:
    """Unordered pairs of different words.

    >>> _pairs(("the", "dog", "the", "barks"))
    ['barks + dog', 'barks + the', 'dog + the']
    """
    return [f"{a} + {b}" for a, b in combinations(sorted(set(tokens)), 2)]
