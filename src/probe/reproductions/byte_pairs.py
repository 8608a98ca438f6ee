"""Byte-pair merges written out, to see what one rule of them does: which of several equally frequent pairs goes first.

Sennrich et al. 2016, algorithm 1, on bytes (Radford et al. 2019). It says "the most frequent pair", which is no answer
where several are: Hugging Face's tokenizers takes the one with the lowest ids, a `max` over a dictionary the one that
was seen first. On the chapter's corpus the first makes 459,792 tokens, and the second the chapter's 459,760.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

Pair = tuple[str, str]


def tokens_by_first_seen(text: str, vocabulary: int) -> int:
    """Number of tokens of a text after learning merges from it, ties broken by which pair was seen first."""
    from tokenizers import pre_tokenizers

    split = pre_tokenizers.ByteLevel(add_prefix_space=False).pre_tokenize_str(text)
    return merged_length(Counter(word for word, _ in split), vocabulary - len(pre_tokenizers.ByteLevel.alphabet()))


def merged_length(counts: Mapping[str, int], merges: int) -> int:
    """Symbols left in words that occur so often, after so many merges.

    >>> merged_length({"abab": 1, "ab": 1}, merges=1)
    3
    """
    words = [list(word) for word in counts]
    times = list(counts.values())
    pairs: Counter[Pair] = Counter()  # a Counter keeps its keys in the order in which they were seen
    places: defaultdict[Pair, set[int]] = defaultdict(set)

    def count(number: int, sign: int) -> None:
        for pair in zip(words[number], words[number][1:], strict=False):
            pairs[pair] += sign * times[number]
            places[pair].add(number)

    for number in range(len(words)):
        count(number, 1)
    for _ in range(merges):
        if not pairs:
            break
        best = max(pairs, key=pairs.__getitem__)
        for number in sorted(places.pop(best)):
            count(number, -1)
            words[number] = merged(words[number], best)
            count(number, 1)
        del pairs[best]
    return sum(len(word) * n for word, n in zip(words, times, strict=True))


def merged(word: list[str], pair: Pair) -> list[str]:
    """A word with every occurrence of a pair joined, from the left.

    >>> merged(["a", "a", "a"], ("a", "a"))
    ['aa', 'a']
    """
    joined: list[str] = []
    for symbol in word:
        if joined and (joined[-1], symbol) == pair:
            joined[-1] += symbol
        else:
            joined.append(symbol)
    return joined
