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
# # From a mean to attention
#
# Attention is a weighted mean whose weights the words choose themselves. This notebook gets there in seven small steps
# from the plain mean, and each step ends in a statement that is exactly true, checked by an assertion.
#
# A check that cannot fail shows nothing. So each identity stands beside the *nearest statement that is false*, with
# its number: the difference that the check would have seen.

# %%
import pandas as pd
import torch
import torch.nn.functional as F

import probe

torch.set_num_threads(1)
TOLERANCE = 1e-6  # what float32 may lose when it adds numbers of about size one in another order


def largest(a, b):
    """Largest absolute difference."""
    return float((a - b).abs().max())


found = []


def holds(statement, difference, false_statement, its_difference, tolerance=TOLERANCE):
    """Assert an identity, and that the check would have caught its false neighbour."""
    assert difference <= tolerance < its_difference, (statement, difference, its_difference)
    found.append((statement, false_statement, its_difference))
    print(f"holds:       {statement} (within {tolerance:g})")
    print(f"does not:    {false_statement} (differs by {its_difference:.2f})")


# %% [markdown]
# Sixteen words, each a vector of 64 numbers, drawn at random: `x[position, d_model]`.

# %%
POS, WIDTH, HEADS = 16, 64, 4
generator = torch.Generator().manual_seed(1)
x = torch.randn(POS, WIDTH, generator=generator)
order = torch.randperm(POS, generator=generator)
x.shape

# %% [markdown]
# ## 1. What does a mean know?
#
# The simplest way to let a position know what stood before it: give it the mean of all vectors so far. What does such
# a summary lose? Shuffle the context and look at what the last position sees.

# %%
holds(
    "the mean of a context is the mean of the shuffled context",
    largest(x.mean(0), x[order].mean(0)),
    "the last word of a context is the last word of the shuffled context",
    largest(x[-1], x[order][-1]),
)

# %% [markdown]
# So a model that joins its words by a mean is a **bag of words**: *the dog bit the man* and *the man bit the dog* are
# one sentence to it. Would it help to add to each word a vector that tells its position? The sum of words and
# positions is the sum of the words plus the sum of the positions, and the second does not depend on which word stood
# where:

# %%
position = torch.randn(POS, WIDTH, generator=generator)
holds(
    "mean of (word + position) = mean of words + mean of positions, whatever the order",
    largest((x[order] + position).mean(0), x.mean(0) + position.mean(0)),
    "a *product* of word and position is blind to the order too",
    largest((x[order] * position).mean(0), (x * position).mean(0)),
)

# %% [markdown]
# ## 2. Can the mean of every prefix be taken at once?
#
# A language model needs the mean at *every* position, each over its own past. The loop is a product with a
# lower-triangular matrix whose row *i* holds 1 / (i + 1) in its first i + 1 places.

# %%
running = torch.stack([x[: i + 1].mean(0) for i in range(POS)])
averaging = torch.ones(POS, POS).tril() / torch.arange(1, POS + 1)[:, None]
full = torch.full((POS, POS), 1 / POS)
print("\n".join(" ".join(f"{weight:.3f}" for weight in row) for row in averaging[:6, :6].tolist()))
print()
holds(
    "running mean = lower-triangular matrix times x",
    largest(running, averaging @ x),
    "running mean = full matrix of 1/16 times x: every position would see its future",
    largest(running, full @ x),
)

# %% [markdown]
# ## 3. Where would other weights come from?
#
# The rows of that matrix are probabilities. Any scores become probabilities by a softmax; equal scores become equal
# shares, and a score of −∞ becomes no share at all. So the mean is attention *before it has learned anything*.

# %%
scores = torch.zeros(POS, POS)
future = torch.ones(POS, POS, dtype=torch.bool).triu(1)
holds(
    "running mean = softmax over equal scores, −∞ for the future",
    largest(averaging, scores.masked_fill(future, -torch.inf).softmax(-1)),
    "... with 0 in place of −∞: the future would keep its share",
    largest(averaging, scores.softmax(-1)),
)

# %% [markdown]
# The toolkit's own order-blind model, the variant `uniform`, is this mean and nothing else. Its pattern is our matrix,
# and what it says after a sentence does not move when the sentence is shuffled:

# %%
blind = probe.initialised(probe.make_config("uniform", d_vocab=50, n_ctx=POS), torch.Generator().manual_seed(0))
sees = probe.initialised(probe.make_config("two-block", d_vocab=50, n_ctx=POS, init_std=0.3), generator)
words = torch.randint(50, (1, POS), generator=generator)


def moved_by_order(model):
    """Largest change of a next word's probability when the sentence is shuffled."""
    with torch.no_grad():
        return largest(*(model.next_word_logits(sentence).softmax(-1) for sentence in (words, words[:, order])))


holds(
    "an order-blind model says the same after a shuffled sentence",
    moved_by_order(blind),
    "a model of two blocks does so too",
    moved_by_order(sees),
)

# %% [markdown]
# ## 4. Who should set the scores?
#
# The words. Each position asks with a *query* and offers a *key*, both linear in its vector; the score of a pair is
# their dot product, and what is averaged is a third linear map, the *value*. Nothing else changes: mask, softmax,
# product.

# %%
W_Q, W_K, W_V = (torch.randn(WIDTH, WIDTH, generator=generator) / WIDTH**0.5 for _ in range(3))


def attention(x, causal=True):
    """One head: scores of queries and keys, softmax over the past, weighted mean of values."""
    q, k, v = x @ W_Q, x @ W_K, x @ W_V
    scores = q @ k.T / q.shape[-1] ** 0.5
    if causal:
        scores = scores.masked_fill(torch.ones(len(x), len(x), dtype=torch.bool).triu(1), -torch.inf)
    return scores.softmax(-1) @ v


# %% [markdown]
# ## 5. Does attention know the order, then?
#
# It weighs words by what they are. Without positions it still does not know *where* they stood: shuffle the input and
# the output is shuffled in the same way; and in a causal layer the last row does not see the order of its prefix.

# %%
prefix = torch.cat([torch.randperm(POS - 1, generator=generator), torch.tensor([POS - 1])])
holds(
    "attention without a mask, of shuffled words = the shuffled attention",
    largest(attention(x[order], causal=False), attention(x, causal=False)[order]),
    "... = the attention, not shuffled",
    largest(attention(x[order], causal=False), attention(x, causal=False)),
)
holds(
    "last row of a causal layer, prefix shuffled = last row",
    largest(attention(x[prefix])[-1], attention(x)[-1]),
    "... the row before it",
    largest(attention(x[prefix])[-2], attention(x)[-2]),
)

# %% [markdown]
# One layer of it is still a bag, only a weighted one. (The row before the last moved because *its* prefix is another
# set of words: a causal mask tells how many words came before, and two layers can use that.) What breaks the symmetry
# is a position that the **score** depends on, as the product of word and position did in step 1.
#
# Rotary positions (Su et al. 2021) turn query and key by an angle that grows with their position. Turning both by the
# same angle changes nothing, so the score depends on their *distance* alone:


# %%
def turned(vector, at):
    """Rotate pairs of numbers of a vector by `at` times the angles of RoPE."""
    half = len(vector) // 2
    angle = at * 10_000.0 ** (-torch.arange(half) / half)
    a, b = vector[:half], vector[half:]
    return torch.cat([a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()])


def score(query_at, key_at):
    """Score of the first word as query and the second as key, at two positions."""
    return float(turned(x[0], query_at) @ turned(x[1], key_at)) / WIDTH**0.5


holds(
    "RoPE: the score is the same wherever the pair stands, at one distance",
    max(abs(score(start + 3, start) - score(3, 0)) for start in range(40)),
    "... at any distance",
    max(abs(score(distance, 0) - score(3, 0)) for distance in range(16)),
    tolerance=1e-5,  # angles of dozens of radians have an error of some 1e-6 each
)

# %% [markdown]
# ## 6. Why divide by √d?
#
# A dot product of two random vectors of d numbers is a sum of d terms of variance 1, so its variance is d. Wide heads
# would start with large scores, and a softmax of large scores is a maximum: one word, and no gradient for the others.
# Divide by √d and the variance is 1 at every width.

# %%
rows = []
for d in (4, 16, 64, 256, 1024):
    q, k = torch.randn(2, 20_000, d, generator=generator)
    dots = (q * k).sum(-1)
    scores = torch.randn(2_000, 64, generator=generator) * d**0.5  # rows of 64 scores, as wide as such dot products
    for divided in (False, True):
        weights = (scores / d**0.5 if divided else scores).softmax(-1)
        entropy = -(weights * weights.clamp_min(1e-30).log()).sum(-1)
        rows.append(
            {
                "d": d,
                "divided by √d": divided,
                "variance of the score": float(dots.var()) / (d if divided else 1),
                "words that share the weight": float(entropy.exp().mean()),
                "gradient left, Σw(1−w)": float((weights * (1 - weights)).sum(-1).mean()),
            }
        )
table = pd.DataFrame(rows)
table.round(2)

# %% [markdown]
# What would show that this is wrong: a variance that is not d within its sampling error (about 1 % of 20,000 pairs),
# or a gradient that depends on the width although the scores are divided.

# %%
undivided, divided = (table[table["divided by √d"] == choice].set_index("d") for choice in (False, True))
assert all(abs(variance / d - 1) < 0.05 for d, variance in undivided["variance of the score"].items())
assert divided["gradient left, Σw(1−w)"].min() > 0.9
assert undivided["gradient left, Σw(1−w)"].loc[1024] < 0.2
assert undivided["words that share the weight"].loc[256] < 2.5 < 30 < divided["words that share the weight"].loc[256]

# %% [markdown]
# ## 7. Is this what everybody computes?
#
# Several heads are the same thing several times in parallel, each on its own slice, and one more linear map that mixes
# them. The toolkit's layer has to agree with PyTorch's two, given the same weights. We look through a hook at what the
# first layer of a model computed, and compute it again with `F.scaled_dot_product_attention`.

# %%
model = probe.initialised(
    probe.make_config("attention-only-1", d_vocab=50, n_ctx=POS, d_model=WIDTH, n_heads=HEADS, init_std=0.3), generator
)
HOOKS = [f"blocks.0.attn.hook_{name}" for name in ("q", "k", "v", "z", "attn_scores", "pattern")]
_, seen = probe.cached(model, words, HOOKS)
q, k, v, z = (seen[hook].transpose(1, 2) for hook in HOOKS[:4])  # batch, head, position, d_head
scores, pattern = (seen[hook] for hook in HOOKS[4:])  # batch, head, query, key
fused = F.scaled_dot_product_attention(q, k, v, is_causal=True)
holds(
    "the toolkit's heads = F.scaled_dot_product_attention of the same q, k, v",
    largest(z, fused),
    "... without the causal mask",
    largest(z, F.scaled_dot_product_attention(q, k, v)),
)
holds(
    "rows of its pattern sum to 1",
    largest(pattern.sum(-1), torch.ones(1, HEADS, POS)),
    "columns do",
    largest(pattern.sum(-2), torch.ones(1, HEADS, POS)),
)

# %% [markdown]
# ## What a first layer cannot know
#
# One identity more, because a famous argument leans on it. At the first layer a query is made of a word and its place
# and nothing else. So change *another* word of the sentence: the query, and its scores on all words that did not
# change, are equal to the last bit. Does it follow that the row of weights cannot depend on the changed word? Look.

# %%
changed = 11
other = words.clone()
other[0, changed] = (other[0, changed] + 1) % 50
_, seen_in_other = probe.cached(model, other, HOOKS)
scores_of_other, pattern_of_other = (seen_in_other[hook] for hook in HOOKS[4:])
kept = [key for key in range(POS) if key != changed]
assert torch.equal(scores[..., -1, kept], scores_of_other[..., -1, kept])
moved = largest(pattern[..., -1, kept], pattern_of_other[..., -1, kept])
print(f"scores of the last row on the other {len(kept)} words: equal to the last bit")
print(f"weights of the same row on the same words: differ by up to {moved:.2f}")
assert moved > 0.01

# %% [markdown]
# It does not follow. The changed word's own key competes in the softmax, and what it wins the others lose. A single
# layer *can* be steered by a word that it has not fetched. *The same map, two mechanisms* shows models that do just
# this.

# %%
pd.DataFrame(found, columns=["holds", "does not", "its difference"]).round(2)
