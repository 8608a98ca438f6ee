"""What notebooks call, and what they see: one call each, the same as the longer way round."""

from __future__ import annotations

import pytest

import probe
from probe import lab, store


def test_a_run_shows_its_accuracies_beside_the_untrained_ones(run):
    shown = run._repr_html_()
    assert "winograd-hard · two-block · seed 0" in shown
    assert shown.count("<td>this run</td>") == shown.count("<td>untrained</td>") == 2
    assert "<td>held_out</td><td>this run</td><td>1.000</td>" in shown


def test_a_run_that_is_not_finished_says_so(tmp_path):
    dataset = probe.make_dataset(probe.load_task("winograd-hard"))
    run = lab.plan_run(lab.make_plan(dataset, "two-block", probe.TrainingConfig()), tmp_path)
    assert "Not finished" in run._repr_html_()


def test_what_was_trained_before_is_opened(tmp_path):
    dataset = probe.make_dataset(probe.load_task("winograd-hard"))
    training = probe.TrainingConfig(steps=2, evaluate_every=1)
    first = probe.train(dataset, "two-block", tmp_path, training)
    weights = first.path / "model.safetensors"
    before = weights.stat().st_mtime_ns
    again = probe.train(dataset, "two-block", tmp_path, training)
    assert again.path == first.path and weights.stat().st_mtime_ns == before
    assert store.open_run(tmp_path).name == first.name  # the latest


def test_looking_in_one_call_is_asking_and_drawing(run):
    question = lab.ask(run, "the animal did not cross...")
    attention, prediction = lab.attention_of(run, question)
    parts = (question.queries, question.candidates, question.answers)
    view = probe.attention_view(question.title, attention, prediction, *parts, layers=[1])
    looked = probe.look(run, "the animal did not cross...", layers=[1])
    assert probe.attention_svg(looked, "paper") == probe.attention_svg(view, "paper") == looked._repr_svg_()


def test_a_figure_shows_itself_without_what_every_commit_changes(run):
    figure = probe.figure(run, "scores")
    assert figure.digest
    shown = figure._repr_svg_()
    assert shown.startswith("<svg") and figure.digest[:16] not in shown and figure.run in shown


@pytest.fixture
def by_hand(tmp_path):
    """A hand-made solver, kept as a run."""
    dataset = probe.make_dataset(probe.load_task("winograd-hard"))
    ids, lexicon = dataset.vocabulary.ids, dataset.spec.lexicon
    crosser, nouns = ([ids[word] for word in lexicon[name]] for name in ("crosser", "noun"))
    model = probe.two_hop_solver(len(ids), 18, dataset.train[0].positions, crosser, nouns)
    return dataset, model, probe.keep_model(model, "two-hop solver", dataset, tmp_path)


def test_a_kept_model_is_the_model(by_hand):
    dataset, model, run = by_hand
    opened = probe.open_model(run)
    for name, tensor in model.state_dict().items():
        assert (opened.state_dict()[name] == tensor).all(), name
    assert probe.summary(run)["held_out"]["referent_accuracy"] == 1.0
    assert probe.summary(run)["untrained"]["held_out"]["referent_accuracy"] < 0.5
    assert probe.keep_model(model, "two-hop solver", dataset, run.path.parent).path == run.path


def test_what_reads_runs_reads_a_kept_model(by_hand):
    _, _, run = by_hand
    trace = probe.trace_run(run, pairs=16)[0]
    assert trace.strategy == "two hops: heads of layer 1 hear of it from earlier heads, by their queries"
    assert "two-hop solver" in run._repr_html_()


def test_an_audit_in_one_call_shows_its_verdict():
    result = probe.audit_of("winograd-easy")
    shown = result._repr_html_()
    assert result.verdict == "cheatable" and "<b>winograd-easy:</b> cheatable by bag-of-words" in shown
    assert shown.count("<tr>") == 1 + len(result.deciding)
