"""From what a user types to sentences: dots stand for the pairs that begin so, and small slips are forgiven."""

import unicodedata

import pytest

from probe.errors import ProbeError
from probe.tasks import completion
from probe.tasks.dataset import make_dataset
from probe.tasks.spec import load_task

HARD = make_dataset(load_task("winograd-hard"))


@pytest.mark.parametrize("dots", ["...", "…", " ...", " …", "...  "])
def test_the_chapters_beginning_stands_for_its_tired_and_wet_sentences(dots):
    typed = "the animal did not cross the street because it was too" + dots
    assert completion.is_open(typed)
    (first, second), _ = completion.complete(typed, HARD)
    assert first.text == "the animal did not cross the street because it was too tired , so the animal waited ."
    assert second.text == "the animal did not cross the street because it was too wet , so the street waited ."


def test_dots_alone_stand_for_the_first_pair():
    (dots, all_pairs), (animal, some) = completion.complete("...", HARD), completion.complete("the animal...", HARD)
    assert dots == animal
    assert (all_pairs, some) == (960, 60)  # 240 ordered pairs x 4 pairs of adjectives; 15 of them begin with animal


def test_every_beginning_of_a_pair_is_completed_to_sentences_that_begin_so():
    (first, _), _ = completion.complete("the horse did not cross the man...", HARD)
    for length in range(first.positions["adjective"] + 1):
        found_pair, _ = completion.complete(" ".join(first.tokens[:length]) + "...", HARD)
        for found in found_pair:
            assert found.tokens[:length] == first.tokens[:length]


@pytest.mark.parametrize(
    ("typed", "parts"),
    [
        ("the animal did cross...", ["'the animal did'", "'cross'", "not"]),
        ("animal...", ["the beginning", "'animal'", "the"]),
        ("the animal did not cross the animal...", ["'animal'", "winograd-hard"]),
        ("the animal did not cross the street because it was too tired...", ["no minimal pair", "differ within"]),
        ("the anmal...", ["word 2", "'anmal'", "'animal'"]),
    ],
)
def test_a_beginning_that_fits_nothing_is_told_how_far_it_fits(typed, parts):
    with pytest.raises(ProbeError) as error:
        completion.complete(typed, HARD)
    for part in parts:
        assert part in str(error.value)


@pytest.mark.parametrize("typed", ["...", "t1..."])
def test_a_task_without_pairs_says_so(typed):
    with pytest.raises(ProbeError, match="induction has no minimal pairs"):
        completion.complete(typed, make_dataset(load_task("induction")))


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("The animal", "the animal"),
        ("the  animal\n did", "the animal did"),
        ("too tired, so the animal waited.", "too tired , so the animal waited ."),
        ("TIRED,", "tired ,"),
    ],
)
def test_capitals_blanks_and_glued_punctuation_are_forgiven(typed, words):
    assert completion.words_of(typed, HARD.vocabulary) == tuple(words.split())


def test_letters_typed_as_letter_and_accent_are_the_same_letters():
    """A file name or a paste on macOS gives n + tilde where the vocabulary has ñ."""
    es = make_dataset(load_task("winograd-es"))
    assert completion.words_of(unicodedata.normalize("NFD", "el niño"), es.vocabulary) == ("el", "niño")


@pytest.mark.parametrize("typed", ["", "   ", "\n"])
def test_an_empty_sentence_is_refused(typed):
    with pytest.raises(ProbeError, match="the sentence is empty"):
        completion.words_of(typed, HARD.vocabulary)


def test_a_prompt_is_found_with_or_without_its_answer_and_nothing_else_is():
    example = HARD.held_out[5]
    assert completion.find_prompt(example.prompt, HARD) == example
    assert completion.find_prompt(example.tokens, HARD) == example
    assert completion.find_prompt(example.prompt[:-1], HARD) is None


def test_the_partner_of_a_partner_is_the_sentence_itself():
    for example in HARD.held_out[:20]:
        other = completion.partner(example, HARD)
        assert other != example
        assert completion.partner(other, HARD) == example


def test_a_sentence_whose_partner_was_dropped_says_so():
    prior = make_dataset(load_task("winograd-prior"))
    held = [e.pair_id for e in prior.examples]
    alone = next(e for e in prior.examples if held.count(e.pair_id) == 1)
    with pytest.raises(ProbeError, match="no partner"):
        completion.partner(alone, prior)
