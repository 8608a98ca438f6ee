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
# # Audit your own data set
#
# Somebody hands you minimal pairs: a good sentence and a bad one, and a model has to prefer the good one. It does, in
# 95 of 100. What has it shown? That depends on what *else* could tell good from bad. An audit tries the cheap
# explanations before you believe in the dear one.
#
# We make a small file with a flaw in it, see whether the audit finds it without being told, mend the file, and ask
# what a verdict of *clean* needs.

# %%
import csv
import itertools
import random
from pathlib import Path

import probe

# %% [markdown]
# ## A file with a flaw
#
# The file is meant to test agreement: *the dog near the cats **barks*** is good, and *the dog near the cats **bark***
# is bad. The writer filled a template, and took care that the noun nearest to the verb never has the subject's number,
# so that whoever agrees with the nearest noun is wrong. See the lines; is anything else wrong?

# %%
NOUNS = [("dog", "dogs"), ("cat", "cats"), ("boy", "boys"), ("girl", "girls"), ("cow", "cows"), ("bird", "birds")]
NOUNS += [("king", "kings"), ("nurse", "nurses"), ("clerk", "clerks"), ("guest", "guests")]
VERBS = [("waits", "wait"), ("sleeps", "sleep"), ("sings", "sing"), ("laughs", "laugh")]


SUBJECT_FIRST, SUBJECT_LAST = "the {subject} near the {other}", "near the {other} the {subject}"


def pairs(subjects_are_plural, starts=(SUBJECT_FIRST,)):
    """Every two nouns and a verb; the other noun never has the subject's number."""
    rows = []
    for (subject, other), verb in itertools.product(itertools.permutations(NOUNS, 2), VERBS):
        for plural, start in itertools.product(subjects_are_plural, starts):
            said = start.format(subject=subject[plural], other=other[1 - plural])
            good, bad = (f"{said} {verb[number]} ." for number in (plural, 1 - plural))
            rows.append({"good": good, "bad": bad})
    return rows


def write(name, rows):
    """A CSV file with the columns good and bad."""
    with Path(name).open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, ["good", "bad"])
        writer.writeheader()
        writer.writerows(rows)


rows = pairs(subjects_are_plural=[0])
write("agreement.csv", rows)
for row in rows[:4]:
    print(f"good: {row['good']:40} bad: {row['bad']}")
print(f"\n{len(rows)} pairs")

# %% [markdown]
# ## What the audit says
#
# It reads the file as it is, finds out for itself which sentences belong together, and tries to tell good from bad
# without the order of the words: by single words, by bags, by length, by parts of the sentence. If the file is what it
# is meant to be, nothing of this works.

# %%
flawed = probe.audit_of("agreement.csv")
flawed

# %%
best = flawed.finding(flawed.by[0])
print(f"{best.auditor}: {best.what}\n")
for name, weight in best.weights[:6]:
    print(f"{weight:+.2f}  {name}")

# %% [markdown]
# Every subject is singular, so every *good* sentence ends in a verb with *-s* and every bad one in a verb without: the
# good one is the longer one, by a letter. A model that likes *waits* better than *wait* scores 100 % and has never
# looked at the subject. The writer guarded against one shortcut, and opened a shorter one.

# %%
assert flawed.verdict == "cheatable" and flawed.ceiling.accuracy == 1.0
assert best.accuracy > 0.95

# %% [markdown]
# ## Mend it
#
# Let half of the subjects be plural. Now each verb form is good as often as bad. Is that enough? The audit tries the
# same as before, and is not told what was changed.

# %%
rows = pairs(subjects_are_plural=[0, 1])
write("agreement-mended.csv", rows)
for row in rows[:2]:
    print(f"good: {row['good']:40} bad: {row['bad']}")
mended = probe.audit_of("agreement-mended.csv")
mended

# %% [markdown]
# *Clean* is a claim with a number: no order-blind auditor's interval reaches more than the declared margin above
# chance. Here it can be said exactly why. *The dog near the cats wait* is bad, *the cats near the dog wait* is good,
# and both are the same bag of words. Whoever answers this file has used the order.

# %%
assert mended.verdict == "clean"
assert mended.ceiling.accuracy == 0.5 and mended.finding("bag-of-words").high < 0.5 + mended.margin

# %% [markdown]
# Has used *some* of the order. Is that agreement with the subject? The audit also tries what sees a little of the
# order, and shows it without counting it.

# %%
local = mended.finding("n-grams")
print(f"{local.auditor} ({local.what}): {local.accuracy:.2f} [{local.low:.2f}, {local.high:.2f}]")
assert local.accuracy > 0.95

# %% [markdown]
# Two words that stand side by side are enough: *cats waits* is always good and *cats wait* always bad, because the near
# noun never has the subject's number. That rule was meant as a guard; whoever learns it backwards needs no subject.
# To need order is not to need to know *who* did it.
#
# Let the subject stand near the verb in half of the sentences: *near the cats the dog waits*. Now the near noun agrees
# as often as not.

# %%
bound = pairs(subjects_are_plural=[0, 1], starts=(SUBJECT_FIRST, SUBJECT_LAST))
write("agreement-bound.csv", bound)
for row in bound[:2]:
    print(f"good: {row['good']:40} bad: {row['bad']}")
mended_again = probe.audit_of("agreement-bound.csv")
local = mended_again.finding("n-grams")
print(f"\n{mended_again.headline}")
print(f"{local.auditor}: {local.accuracy:.2f} [{local.low:.2f}, {local.high:.2f}]")
assert mended_again.verdict == "clean" and local.high < 0.55

# %% [markdown]
# ## How small may a file be?
#
# Take a dozen of the good pairs. Nothing order-blind answers them either. Is a dozen pairs clean?

# %%
write("agreement-few.csv", rows[:12])
few = probe.audit_of("agreement-few.csv")
few

# %%
print(few.headline)
assert few.verdict == "underpowered"

# %% [markdown]
# No: they are too few to tell. "We found nothing" and "there is nothing" are two verdicts, and the second needs
# numbers.
#
# ## Does a split keep what the file had?
#
# The mended file is clean as a whole. Cut it into a training half and a test half, at random, row by row, as is often
# done. Nothing is in both halves. What could go wrong?

# %%
shuffled = random.Random(0).sample(rows, len(rows))
write("train.csv", shuffled[: len(rows) // 2])
write("test.csv", shuffled[len(rows) // 2 :])
split = probe.audit_of("test.csv", against="train.csv")
split

# %%
for leak in split.leaks:
    print(f"{leak.relation}: {leak.shared:.0%} of the test half, {leak.flipped:.0%} of these with the other answer")
assert split.verdict == "leaked"

# %% [markdown]
# The test half holds the *twins* of training sentences: the same words with the other answer. A model that learned its
# training half by heart is now wrong far more often than a coin, and in a file with one answer a bag it would be right
# far more often. Either way the test measures memory. So "far below chance" is no sign of a clean file, and the audit
# calls it by its name.
#
# What is cut must keep twins together: here, all sentences with the same two nouns in the same two numbers.

# %%
twins = {}
for row in rows:
    twins.setdefault(frozenset(row["good"].split()[:-2]), []).append(row)  # the words before the verb
groups = random.Random(0).sample(list(twins.values()), len(twins))
write("train.csv", [row for group in groups[: len(groups) // 2] for row in group])
write("test.csv", [row for group in groups[len(groups) // 2 :] for row in group])
kept = probe.audit_of("test.csv", against="train.csv")
print(kept.headline)
assert not kept.leaked and kept.verdict == "clean"

# %% [markdown]
# ## Your own file
#
#     probe.audit_of("pairs.csv")          # CSV, TSV, JSON Lines, Parquet, XML, BLiMP, Winogender, …
#
# or, from a shell, `probe audit pairs.csv`, which says more about each auditor and can fail a build. What the audit
# cannot do: it tries the cheats that it knows. *Clean* means that these did not work, and how large an effect would
# have been seen. It does not mean that no other cheat exists.
