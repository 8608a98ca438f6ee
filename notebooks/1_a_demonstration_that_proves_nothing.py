# ---
# jupyter:
#   jupytext:
#     formats: py:percent,ipynb
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # A demonstration that proves nothing
#
# > The animal did not cross the street because it was too **tired**.
# > The animal did not cross the street because it was too **wet**.
#
# What was too tired? The animal. What was too wet? The street. A transformer that gets this right seems to have
# carried the right noun to the pronoun, and this sentence pair is often shown to explain what attention is for.
#
# This notebook asks a question that comes before any picture of attention: **could a model that does not know the
# order of the words answer it too?** If it could, success says nothing about attention.

# %%
import os
from pathlib import Path

import pandas as pd

import probe

SMALL = "PROBE_SMALL" in os.environ  # one seed and shorter training, as the tests run it
SEEDS = range(1) if SMALL else range(4)
SETTINGS = {"uniform": {"steps": 1500}, "two-block": {"until": 1.0}} if SMALL else {"uniform": {}, "two-block": {}}
RUNS = Path("runs")  # trained models are kept here, so that a second look costs nothing

# %% [markdown]
# ## The task
#
# `winograd-easy` is this sentence with other words in its three places. The first noun is always an animal or a
# person, the second always a place. Pairs of nouns that are held out were never seen in training. A model reads up to
# *so the* and has to name the next word, out of its whole vocabulary.

# %%
easy = probe.make_dataset(probe.load_task("winograd-easy"))
for pair in probe.minimal_pairs(easy.held_out)[:2]:
    for example in pair:
        print(example.text)
print(f"\n{len(easy.train)} sentences to learn from, {len(easy.held_out)} held out, {len(easy.vocabulary)} words")

# %% [markdown]
# ## What could answer without reading?
#
# Before any model: an *audit* tries everything that does not need the order of the words, with grouped folds,
# intervals and a correction for trying many things. What would speak for the task is the verdict *clean*: nothing
# order-blind can be better than chance by more than a margin that is declared beforehand.

# %%
audit_of_easy = probe.audit_of("winograd-easy")
audit_of_easy

# %% [markdown]
# The bag of words answers every question. It is no mystery how: *tired* says "an animal", *wet* says "a place", and
# each sentence holds one word of each kind. **The adjective names the category of the answer.** No noun has to be
# carried anywhere.

# %%
assert audit_of_easy.cheatable
assert audit_of_easy.finding("bag-of-words").accuracy == 1.0

# %% [markdown]
# ## Does an order-blind *model* learn it?
#
# The variant `uniform` replaces every position by the plain mean of all words so far. It has no attention weights to
# learn and no positions: it cannot know the order. Beside it stands a transformer of two blocks. One seed is an
# anecdote, so each is trained with several.


# %%
def trained(dataset, variant):
    """One run for each seed."""
    settings = [probe.training_for(variant, seed=seed, **SETTINGS[variant]) for seed in SEEDS]
    return [probe.train(dataset, variant, RUNS, training) for training in settings]


runs = {(easy.name, variant): trained(easy, variant) for variant in ("uniform", "two-block")}
runs["winograd-easy", "uniform"][0]


# %%
def scores(runs):
    """Mean over seeds on held-out sentences, its 95 % interval over seeds, and how many seeds got everything right."""
    rows = []
    for (task, variant), of_both in runs.items():
        total = probe.sweep_summary([probe.summary(run) for run in of_both])
        mean, low, high = (total["held_out"][part] for part in ("mean", "low", "high"))
        rows.append(
            {
                "task": task,
                "model": variant,
                "right word": mean["referent_accuracy"],
                "from": low["referent_accuracy"],
                "to": high["referent_accuracy"],
                "wrong noun": mean["distractor_rate"],
                "right word, untrained": total["untrained"]["mean"]["referent_accuracy"],
                "seeds at 100 %": f"{total['solved']['count']} of {total['solved']['n']}",
            }
        )
    return pd.DataFrame(rows).set_index(["task", "model"])


scores(runs).round(3)

# %% [markdown]
# The mean is as good as the transformer, and it has no attention at all. A map of the transformer's attention on this
# task could be beautiful, and it would show nothing that the task needs.

# %%
found = scores(runs)
assert found.loc[("winograd-easy", "uniform"), "right word"] > 0.99

# %% [markdown]
# ## Close the hole
#
# What lets the bag win? That the two nouns are of two kinds. So take both from *one* set: an animal can stand first or
# second, and so can a street. Then the adjective tells no more than *the first* or *the second* noun. And hold out
# ordered pairs whose reverse was trained, so that whoever has learned bags by heart has learned them with the other
# answer. That is `winograd-hard`.

# %%
hard = probe.make_dataset(probe.load_task("winograd-hard"))
for pair in probe.minimal_pairs(hard.held_out)[:2]:
    for example in pair:
        print(example.text)
audit_of_hard = probe.audit_of("winograd-hard")
audit_of_hard

# %% [markdown]
# Each bag of words now stands in the task twice, once with each answer, so no order-blind answer can be right more
# often than half of the time. This is counted, not estimated: the exact ceiling.

# %%
counts = probe.order_blind_counts(hard)
print(f"best possible without word order: {counts.ceiling:.1%}")
print(f"bags learned by heart from train, asked on held out: {counts.transfer.accuracy:.1%}")
assert audit_of_hard.verdict == "clean"
assert (counts.ceiling, counts.transfer.accuracy) == (0.5, 0.0)

# %% [markdown]
# ## The same two models again
#
# If the two blocks succeed where the mean fails, *then* they use the order of the words. If both fail, the task is too
# hard to show anything; if both succeed, there is another hole.

# %%
runs |= {(hard.name, variant): trained(hard, variant) for variant in ("uniform", "two-block")}
found = scores(runs)
found.round(3)

# %% [markdown]
# The mean does not even guess: it is right less often than a coin, and names the *wrong noun of the pair* about half
# of the time. It knows which two nouns are in question and nothing more. The two blocks name the right one.

# %%
blind, reads = (found.loc[("winograd-hard", variant)] for variant in ("uniform", "two-block"))
assert blind["right word"] < 0.35 and 0.4 < blind["wrong noun"] < 0.6
assert reads["right word"] > (0.95 if SMALL else 0.99)
assert blind["to"] < counts.ceiling < reads["from"]

# %% [markdown]
# ## Now a map means something
#
# Not yet what it seems to mean. Here is where the two blocks look, in both sentences of a pair and in their
# difference. It says *where* each head looks; whether that causes the answer is another question, and needs another
# experiment. That is the next notebook.

# %%
probe.look(runs["winograd-hard", "two-block"][0], "the animal did not cross the street...", heads=[])
