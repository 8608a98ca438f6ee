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
# # Induction heads as they form
#
# Show a model a sequence of random words, and then the same sequence again. The first time nobody can guess the next
# word. The second time anybody can who finds the earlier copy of the last word and says what followed it. A head that
# looks there is called an **induction head** (Olsson et al. 2022).
#
# It takes two: for a position to be found by *the word before it*, an earlier head must have written that word there.
# We train a small model, score its heads, watch the score form, and break the model to see who needs whom.

# %%
import os
from pathlib import Path

import pandas as pd
import torch

import probe

SMALL = "PROBE_SMALL" in os.environ  # training is stopped earlier, as the tests run it
UNTIL = 0.95 if SMALL else None

# %% [markdown]
# ## The task
#
# Each sequence repeats with a *period* drawn anew, 17 to 28 words. That matters: with one fixed period a head that
# always looks 19 words back would solve the task, and score as an induction head, without looking at any word.

# %%
dataset = probe.make_dataset(probe.load_task("induction"))
example = dataset.held_out[0]
print(" ".join(example.prompt), "→", example.answer)
training = probe.training_for("two-block", lr=0.01, steps=800, checkpoint_every=25, evaluate_every=25, until=UNTIL)
run = probe.train(dataset, "two-block", Path("runs"), training)
run

# %% [markdown]
# It names the right word out of 64. By what?
#
# ## Does any head look where an induction head must?
#
# The score is the attention that goes from each word of a second copy to the word *after* its earlier copy, on fresh
# random sequences. What would show that a high score is not induction: a head that simply looks a fixed distance back.
# So beside each score stands the best that *any fixed distance* would explain (`control`), and what uniform attention
# gets (`floor`).

# %%
heads, composition = probe.heads_of(run)
probe.figure(run, "heads")

# %%
scores = heads.table[heads.table["metric"] == "induction"].set_index(["layer", "head"])
scores[["value", "low", "high", "floor", "control"]].round(3)

# %%
later, earlier = scores.loc[1], scores.loc[0]
induction_head = int(later["value"].idxmax())
assert later["value"].max() > 0.7 > 5 * later["control"].loc[induction_head]
assert earlier["value"].max() < 0.1
print(f"L1H{induction_head}: {later['value'].max():.2f}; no head of layer 0 above {earlier['value'].max():.2f}")

# %% [markdown]
# ## When did it form?
#
# The run kept its weights every 25 steps. Each score is computed at each checkpoint, and its changes are *dated*: a
# step or two are fitted to the curve, and dates with their intervals are given only where they fit better than no
# change and than a straight line. Olsson et al. report induction heads and in-context learning appearing together;
# here each curve is dated on its own, so that "together" could come out otherwise.

# %%
curves, dates = probe.formation_of(run)
wanted = dates.table["metric"].isin(["loss", "accuracy", "in-context score", "induction"])
dated = dates.table[wanted & (dates.table["layer"] != 0)].dropna(subset=["step"])
where = dated.apply(lambda row: "model" if row["layer"] < 0 else f"L{row['layer']}H{row['head']}", axis=1)
dated.assign(where=where)[["metric", "where", "step", "low", "high", "before", "after"]].round(2).reset_index(drop=True)

# %%
probe.figure(run, "formation")

# %% [markdown]
# The model learns in two steps. In the first, near step 200, its accuracy leaves the floor with no induction head in
# sight: that needs another explanation, and this notebook has none. In the second, near step 400, the heads form and
# the accuracy goes up to 1. The accuracy's date is the earlier one, by 20 to 25 steps: one gap between checkpoints,
# and no date here is finer than that, so that the curves cannot tell which came first. That two things happen together
# is no proof that one causes the other either. It is a reason to intervene.


# %%
def largest_change(metric, layer, head):
    """Of the changes of one curve."""
    found = dated[(dated["metric"] == metric) & (dated["layer"] == layer) & (dated["head"] == head)]
    return found.loc[(found["after"] - found["before"]).abs().idxmax()]


formed, learned = largest_change("induction", 1, induction_head), largest_change("accuracy", -1, -1)
assert SMALL or abs(formed["step"] - learned["step"]) < 75
assert formed["before"] < 0.1 and formed["after"] > 0.7
print(f"L1H{induction_head} forms at step {formed['step']:.0f}, accuracy rises at step {learned['step']:.0f}")

# %% [markdown]
# ## Who writes down the word before?
#
# The story needs a *previous-token head* in layer 0. Does the table name one?

# %%
previous = heads.table[heads.table["metric"] == "previous token"].set_index(["layer", "head"])
previous.loc[0, ["value", "low", "high", "floor", "name"]].round(3)

# %% [markdown]
# Not clearly: the strongest head gives less than half of its attention to the word before, too little for a name.
# Either the story is wrong for this model, or the score looks in the wrong places. The score is a mean over *all*
# positions. But a prompt has 31 words and the shortest period is 17, so only the first 14 words of a sequence have a
# second copy to be found by. Split the score, and see also how much each head looks at its own place.

# %%
PERIOD, N, LENGTH = 20, 64, 31
generator = torch.Generator().manual_seed(0)
copies = torch.stack([torch.randperm(len(dataset.vocabulary), generator=generator)[:PERIOD] for _ in range(N)])
tokens = torch.cat([copies, copies], 1)[:, :LENGTH]
FIRST, SECOND = list(range(1, 15)), list(range(PERIOD, LENGTH - 1))
PATTERNS = [f"blocks.{layer}.attn.hook_pattern" for layer in range(2)]
model = probe.open_model(run)
_, seen = probe.cached(model, tokens, PATTERNS)


def attention(positions, back):
    """Attention of each head of layer 0 from these positions to the word `back` places before; means over sequences."""
    return [float(seen[PATTERNS[0]][:, head, positions, [i - back for i in positions]].mean()) for head in range(4)]


looks = pd.DataFrame(
    {
        ("first 14 words", "word before"): attention(FIRST, 1),
        ("first 14 words", "itself"): attention(FIRST, 0),
        ("second copy", "word before"): attention(SECOND, 1),
        ("second copy", "itself"): attention(SECOND, 0),
    },
    index=[f"L0H{head}" for head in range(4)],
)
looks.round(3)

# %% [markdown]
# There it is. One head looks at the word before where a word may have to be found, and *at itself* later on, where
# words are looked up. An average over all positions hid both. And it suggests more than the story said: what this head
# brings to the first copy is the word **before**, what it brings to the second copy is the word **itself**, and these
# two are what has to match. Perhaps the induction heads compare what the same head wrote in both places.

# %%
writer = looks["first 14 words", "word before"].idxmax()
assert SMALL or looks.loc[writer, ("first 14 words", "word before")] > 0.95
assert SMALL or looks.loc[writer, ("second copy", "itself")] > 0.9
assert SMALL or heads.table.query("metric == 'previous token' and layer == 0")["value"].max() < 0.5
writer

# %% [markdown]
# ## Does the induction head need it?
#
# Break it. In place of a head's output put its mean over all sequences and positions, which says nothing of any word:
# in the first copy, where it would be read by keys, or in the second, where it would be read by queries. And break
# every other head of layer 0 in the same way, so that there is something to compare with.
#
# If the idea is right, both wounds of that one head take the *attention* of the induction heads away, and no wound of
# another head does. If one head's wounds are like another's, it is wrong.

# %%
Z = "blocks.0.attn.hook_z"


def measured(edits):
    """On the second copy: share of next words told right, and attention of the induction heads."""
    logits, after = probe.intervened(model, tokens, edits, [PATTERNS[1]])
    right = logits[:, SECOND].argmax(-1) == tokens[:, [i + 1 for i in SECOND]]
    induction = after[PATTERNS[1]][:, :, SECOND, [i - PERIOD + 1 for i in SECOND]]
    return {"accuracy": float(right.float().mean()), "induction": float(induction.mean())}


def without(head, positions):
    """An edit: the head's mean in place of its output at these positions."""

    def edit(z):
        z = z.clone()
        z[:, positions, head] = z[:, :, head].mean((0, 1))
        return z

    return {Z: edit}


rows = [{"broken": "nothing", "in": "–", **measured({})}]
for head in range(4):
    for where, positions in (("first copy", slice(0, PERIOD)), ("second copy", slice(PERIOD, LENGTH))):
        rows.append({"broken": f"L0H{head}", "in": where, **measured(without(head, positions))})
effects = pd.DataFrame(rows).set_index(["broken", "in"])
effects.round(3)

# %%
whole, wounds = effects.loc[("nothing", "–")], effects.loc[writer]
others = effects.drop(index=[writer, "nothing"], level=0)
assert whole["accuracy"] > 0.9 and whole["induction"] > 0.7
assert SMALL or wounds["induction"].max() < others["induction"].min() - 0.15
assert SMALL or wounds["accuracy"].loc["first copy"] < 0.6

# %% [markdown]
# Both wounds of the one head, and no others, blind the induction heads: a circuit of two layers, found by a score,
# dated along training and shown by breaking it. The table of weights said so too, in its way: the largest composition
# is from that head into the *queries* of the induction heads.
#
# Look once more. Breaking another head of layer 0 in the first copy leaves the attention as it was and still costs a
# good part of the accuracy. The induction heads look at the right word and do not say it: that head carries *what* is
# brought, not *where to look*. Attention alone would not have shown it.

# %%
carrier = others["accuracy"].idxmin()
assert SMALL or others.loc[carrier, "induction"] > 0.85 and others.loc[carrier, "accuracy"] < 0.8
strongest = composition.table.sort_values("value").iloc[-1]
assert SMALL or (strongest["sender"], strongest["metric"]) == (writer, "Q")
print(
    f"{carrier[0]}, {carrier[1]}: attention {others.loc[carrier, 'induction']:.2f} of {whole['induction']:.2f}, "
    f"accuracy {others.loc[carrier, 'accuracy']:.2f}"
)
print(
    f"strongest composition: {writer} → {strongest['receiver']}, {strongest['metric']}: {strongest['value']:.3f}, "
    f"95 % of random pairs below {strongest['control_95']:.3f}"
)

# %% [markdown]
# One seed, one model. Other seeds may grow other heads and share the work differently; a claim about *transformers*
# would need many of them.
