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
# # The same map, two mechanisms
#
# > the animal did not cross the street because it was too **tired** , so the … *animal*
# > the animal did not cross the street because it was too **wet** , so the … *street*
#
# At the place where the noun has to be named, a head looks at one word in the first sentence and at another in the
# second. So it must have *read the adjective*, and that takes two steps: first somebody finds out what kind of
# adjective it is, then this head looks accordingly. Must it?
#
# This notebook shows two models with the same map in that place and different mechanisms, first made by hand, so that
# we know the truth, then trained. What tells them apart is never the map. It is breaking them.

# %%
import os
from pathlib import Path

import pandas as pd

import probe

SMALL = "PROBE_SMALL" in os.environ  # fewer pairs, as the tests run it
PAIRS = 24 if SMALL else 120
RUNS = Path("runs")
TIRED = "the animal did not cross the street because it was too tired"
WET = "the animal did not cross the street because it was too wet"

dataset = probe.make_dataset(probe.load_task("winograd-hard"))

# %% [markdown]
# ## Two models made by hand
#
# Both carry the first noun to the place of the answer, and both have a head that brings the second noun over it where
# the adjective asks for that. They differ in how that head comes to know.
#
# - **Two hops.** A head of layer 0 brings the *kind* of the adjective to the answer's place. The deciding head's
#   **query** reads it there: it asks for the adjective, which says nothing, or for the second noun.
# - **One hop, gated.** The deciding head asks the same question in every sentence. A crosser adjective has a **key**
#   that outbids the second noun's, and in the softmax the winner takes all. Nobody has told the head anything.

# %%
ids, lexicon = dataset.vocabulary.ids, dataset.spec.lexicon
crosser, nouns = ([ids[word] for word in lexicon[name]] for name in ("crosser", "noun"))
common = (len(ids), len(dataset.train[0].tokens), dataset.train[0].positions, crosser, nouns)
by_hand = {
    "two hops": probe.keep_model(probe.two_hop_solver(*common), "two-hop solver", dataset, RUNS),
    "one hop": probe.keep_model(probe.gated_solver(*common, layer=1), "gated solver", dataset, RUNS),
}
for run in by_hand.values():
    assert probe.summary(run)["held_out"]["referent_accuracy"] == 1.0
by_hand["two hops"]

# %% [markdown]
# ### Can their maps be told apart?
#
# The head that decides is L1H1 in both. Look at it in both models.

# %%
probe.look(by_hand["two hops"], TIRED + " , so the", against=WET + " , so the", layers=[1], heads=[1])

# %%
probe.look(by_hand["one hop"], TIRED + " , so the", against=WET + " , so the", layers=[1], heads=[1])


# %%
def answer_rows(run, layer):
    """For each head of a layer the row that names the answer: shares, by adjective (rows) and place (columns)."""
    table = probe.answer_rows_of(run).table
    table = table[(table["layer"] == layer) & (table["head"] >= 0)]  # -1 is the mean over heads
    by_head = table.groupby("head")
    return {h: of.pivot_table(index="filler", columns="role", values="value", sort=False) for h, of in by_head}


def apart(one, other):
    """Total variation, largest over the adjectives: the share of attention that goes elsewhere. 0: same."""
    return float(((one - other).abs().sum(axis=1) / 2).max())


rows = [answer_rows(run, layer=1)[1] for run in by_hand.values()]
print(f"largest difference over {len(rows[0])} adjectives: {apart(*rows):.1e}")
assert apart(*rows) < 1e-6

# %% [markdown]
# In the row that names the answer they cannot: it is the same to float precision, for every adjective of the task. (In
# rows above it they can, from *tired* on. Nobody reads those rows for the answer, and a trained pair need not be so
# kind.)
#
# ### Break them
#
# A minimal pair gives the knife. Run the sentence with *tired*, but let one layer see what it would have seen in the
# sentence with *wet*: either the other **words**, or what **earlier heads** moved of the other words. And only through
# one door: its queries, its keys or its values. If the answer does not care, that is not the way by which the
# adjective comes. 0: nothing is lost; 1: the answer becomes that of the other sentence.
#
# What would show that it does not work: a null that fails. *Clean into clean* must change nothing, and *everything
# from the other run* must change all.


# %%
def traced(run):
    """The trace of the adjective."""
    return probe.trace_run(run, pairs=PAIRS)[0]


def lost(trace):
    """Share lost through each door: what the last layer hears from words, and from earlier heads."""
    table = trace.ways.table
    table = table[table["layer"] == table["layer"].max()]
    names = {"q": "queries", "k": "keys", "v": "values"}
    table = table[table["port"].isin(names)].assign(door=lambda row: row["port"].map(names))
    return table.pivot_table(index="door", columns="source", values="value", sort=False)


traces = {name: traced(run) for name, run in by_hand.items()}
for name, trace in traces.items():
    assert max(trace.checks.values()) < 1e-3  # the nulls
    print(f"{name}: {trace.strategy}")
pd.concat({name: lost(trace) for name, trace in traces.items()}, axis=1).round(2) + 0.0

# %%
two, one = (lost(traces[name]) for name in ("two hops", "one hop"))
assert two.loc["queries", "earlier heads"] > 0.99 and one.loc["keys", "words"] > 0.99
assert abs(two.loc["keys", "words"]) < 0.01 and abs(one.loc["queries", "earlier heads"]) < 0.01

# %% [markdown]
# Same map, same answers, and no overlap in what breaks them. The trace finds what we had built in, without having
# looked at a single attention weight.

# %%
probe.figure(by_hand["two hops"], "trace")

# %%
probe.figure(by_hand["one hop"], "trace")

# %% [markdown]
# ## Does training make such pairs?
#
# A hand-made model proves that something is possible. So train two: attention only, no MLP, one with a single layer,
# one with two. A single layer *cannot* take two hops, so if it solves the task it has found another way. Not every
# seed does. These two seeds were chosen, out of eight of each kind, because both solve the task and a head of one has
# the same map as a head of the other. They are an existence proof and no statistics; those stand in the README.

# %%
CHOSEN = {"one hop": ("attention-only-1", 0), "two hops": ("attention-only-2", 6)}
trained = {
    name: probe.train(dataset, variant, RUNS, probe.training_for(variant, seed=seed))
    for name, (variant, seed) in CHOSEN.items()
}
for run in trained.values():
    assert probe.summary(run)["held_out"]["referent_accuracy"] > 0.95
trained["one hop"]

# %% [markdown]
# Which heads look alike? Compare the answer's row of every head of the first with every head of the last layer of the
# second, over all eight adjectives.

# %%
single, double = answer_rows(trained["one hop"], layer=0), answer_rows(trained["two hops"], layer=1)
alike = pd.DataFrame(
    {f"two layers, L1H{j}": {f"one layer, L0H{i}": apart(single[i], double[j]) for i in single} for j in double}
)
alike.round(3)

# %%
first, second = alike.stack().idxmin()
first, second = int(first[-1]), int(second[-1])
print(
    f"one layer, L0H{first}, and two layers, L1H{second}: {alike.to_numpy().min():.3f} of the attention goes elsewhere"
)
assert SMALL or alike.to_numpy().min() < 0.05  # of these seeds; a processor that rounds otherwise has others

# %%
probe.look(trained["one hop"], TIRED + " , so the", against=WET + " , so the", layers=[0], heads=[first])

# %%
probe.look(trained["two hops"], TIRED + " , so the", against=WET + " , so the", layers=[1], heads=[second])

# %% [markdown]
# For *tired* both look at the first noun, for *wet* both look at the adjective. Anybody would tell the same story of
# both.
#
# ### Break them again

# %%
traces = {name: traced(run) for name, run in trained.items()}
for name, trace in traces.items():
    assert max(trace.checks.values()) < 1e-3
    print(f"{CHOSEN[name][0]}: {trace.strategy}")
pd.concat({CHOSEN[name][0]: lost(trace) for name, trace in traces.items()}, axis=1).round(2) + 0.0

# %%
one, two = (lost(traces[name]) for name in ("one hop", "two hops"))
assert traces["one hop"].strategy.startswith("one hop")
assert traces["two hops"].strategy.startswith("two hops")
assert SMALL or one.loc["keys", "words"] > 0.7 and abs(one.loc["queries"]).max() < 0.01
assert SMALL or two.loc["queries", "earlier heads"] > 0.6 and abs(two.loc["keys"]).max() < 0.01

# %%
probe.figure(trained["one hop"], "trace")

# %%
probe.figure(trained["two hops"], "trace")

# %% [markdown]
# In the single layer the adjective's own **key** competes: with *wet* it draws the attention to itself, with *tired*
# it leaves it to the first noun. The query never knew. In the two layers a head of layer 0 has fetched the adjective,
# and the **query** of layer 1 asks accordingly.
#
# So "this head looks at the noun because it has read the adjective" is a story that the map allows. It allows the
# other one too. Only an experiment that *could have come out otherwise* decides, and in these two models it comes out
# otherwise.
