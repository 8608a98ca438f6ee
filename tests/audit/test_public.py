"""Public files against figures that are known (grouped folds, unordered counts), with the tolerance of their size."""

from __future__ import annotations

import pytest

from probe.audit import audit
from probe.tasks.readers import pooled, read

BLIMP = {
    # paradigm: (bag of words, bag of pairs, verdict)
    "adjunct_island": (0.50, 0.50, "clean"),
    "complex_NP_island": (0.50, 0.50, "clean"),
    "anaphor_gender_agreement": (0.81, 0.91, "cheatable"),
    "determiner_noun_agreement_1": (0.53, 0.87, "cheatable"),
    "drop_argument": (1.00, 1.00, "cheatable"),
    "distractor_agreement_relative_clause": (0.52, 0.60, "cheatable"),
}


@pytest.mark.parametrize("name", BLIMP)
def test_blimp(name, public):
    words, pairs, verdict = BLIMP[name]
    result = audit(read(public(f"blimp/{name}.jsonl")))
    assert result.finding("bag-of-words").accuracy == pytest.approx(words, abs=0.02)
    assert result.finding("bag-of-pairs").accuracy == pytest.approx(pairs, abs=0.02)
    assert result.verdict == verdict
    if verdict == "clean":
        assert result.ceiling.equal_bags == 1.0 and result.finding("n-grams").accuracy > 0.6


def test_a_glued_full_stop_tells_the_last_word(public):
    result = audit(read(public("blimp/adjunct_island.jsonl")))
    assert result.finding("bag-of-words").accuracy == 0.5
    assert result.finding("bag-of-words", "raw").accuracy == 1.0
    assert any("raw tokens let bag-of-words" in note for note in result.notes)


def test_zorro_agreement_is_far_below_chance_by_words_and_solved_by_pairs(public):
    result = audit(read(public("zorro/agreement_subject_verb-across_relative_clause.txt")))
    assert result.finding("bag-of-words").accuracy < 0.45
    assert result.finding("bag-of-words").verdict == "leaked"
    assert result.finding("bag-of-pairs").accuracy > 0.99
    assert result.cheatable and result.leaked
    swapped = audit(read(public("zorro/argument_structure-swapped_arguments.txt")))
    assert swapped.verdict == "clean" and swapped.ceiling.equal_bags == 1.0


def test_winogender_memory_is_not_knowledge(public):
    result = audit(read(public("winogender/all_sentences.tsv")))
    found = result.finding("bag-of-words")
    assert found.accuracy == pytest.approx(0.5, abs=0.06) and result.verdict != "cheatable"
    assert found.ungrouped > 0.97
    assert result.clusters == 60


def test_winobias(public):
    one, two = (
        [read(public(f"winobias/{side}_stereotyped_type{k}.txt.dev")) for side in ("pro", "anti")] for k in (1, 2)
    )
    second_noun = audit(two[0])
    assert second_noun.by[0] == "candidate-position" and second_noun.finding("candidate-position").accuracy == 1.0
    pro = audit(one[0])
    assert pro.finding("mention-and-word").accuracy == pytest.approx(0.89, abs=0.02)  # a bag that names first or second
    assert pro.finding("bag-of-words").accuracy > 0.95  # a bag that names the occupation
    both = audit(pooled(one))
    assert both.finding("mention-and-word").accuracy == pytest.approx(0.57, abs=0.04)
    assert both.finding("bag-of-words").accuracy == pytest.approx(0.56, abs=0.04)


def test_wsc_ioi_and_greater_than(public):
    wsc = audit(read(public("wsc_xml/WSCollection.xml")))
    assert wsc.finding("mention-and-word").accuracy == pytest.approx(0.48, abs=0.02)
    assert wsc.verdict == "underpowered"
    ioi = audit(read(public("eap_ig/ioi_llama.csv")))
    assert ioi.by[0] == "counting" and ioi.finding("counting").accuracy == 1.0
    greater = audit(read(public("eap_ig/greater_than_data.csv")))
    assert greater.ceiling_verdict[0] == "bag-sufficient" and greater.by[0] == "copying"


def test_syntaxgym_is_too_small_to_say_much(public):
    result = audit(read(public("syntaxgym/number_src.json")))
    assert result.verdict == "underpowered" and result.clusters == 19
    chosen = read(public("syntaxgym/npi_src_any.json"), mapping={"good": "neg_pos", "bad": "pos_pos"})
    assert audit(chosen).finding("bag-of-words").accuracy == 1.0  # "no" against "the"


def test_the_ceiling_is_above_all_that_is_order_blind(public):
    result = audit(read(public("syntaxgym/npi_src_any.json")))
    assert result.finding("length").accuracy > 0.8
    assert all(f.accuracy <= result.ceiling.accuracy for f in result.deciding)
