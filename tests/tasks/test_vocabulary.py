"""Words and ids are inverse to each other; what is not known is named with its place and its neighbours."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from probe.errors import ProbeError
from probe.tasks.dataset import make_dataset
from probe.tasks.spec import load_task
from probe.tasks.vocabulary import Vocabulary

words = st.text(st.characters(codec="utf-8"), min_size=1)


@given(st.lists(words, unique=True, min_size=1), st.data())
def test_decode_undoes_encode(vocabulary_words, data):
    vocabulary = Vocabulary(tuple(vocabulary_words))
    tokens = data.draw(st.lists(st.sampled_from(vocabulary_words)))
    ids = vocabulary.encode(tokens)
    assert ids.dtype == np.int64
    assert vocabulary.decode(ids.tolist()) == tuple(tokens)


@given(st.lists(words, unique=True, min_size=1))
def test_a_saved_vocabulary_is_read_back(tmp_path_factory, vocabulary_words):
    path = tmp_path_factory.mktemp("v") / "vocabulary.json"
    Vocabulary(tuple(vocabulary_words)).save(path)
    assert Vocabulary.load(path) == Vocabulary(tuple(vocabulary_words))


def test_an_unknown_word_is_named_with_its_position_and_the_nearest_words():
    vocabulary = make_dataset(load_task("winograd-hard")).vocabulary
    with pytest.raises(ProbeError, match=r"word 2 of the sentence, 'anmal', .* did you mean 'animal'"):
        vocabulary.encode(["the", "anmal", "did"])


@pytest.mark.parametrize("bad", [(), ("a", "a")])
def test_a_vocabulary_needs_distinct_words(bad):
    with pytest.raises(ProbeError, match="distinct words"):
        Vocabulary(bad)


def test_a_batch_holds_what_its_examples_say():
    data = make_dataset(load_task("winograd-hard"))
    batch = data.vocabulary.batch(data.held_out)
    assert len(batch) == len(data.held_out)
    rows = np.arange(len(batch))
    assert (batch.tokens[rows, batch.positions["answer"]] == batch.answer).all()
    assert (batch.answer != batch.distractor).all()
    for role in ("x", "y"):
        place = batch.positions[role]
        assert [data.vocabulary.words[i] for i in batch.tokens[rows, place]] == [
            e.candidates["xy".index(role)] for e in data.held_out
        ]
    with pytest.raises(ProbeError, match="no examples"):
        data.vocabulary.batch([])
    longer = replace(data.train[0], tokens=(*data.train[0].tokens, "."))
    with pytest.raises(ProbeError, match=r"different lengths \(\[18, 19\]\)"):
        data.vocabulary.batch([data.train[0], longer])
