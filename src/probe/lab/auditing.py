"""An audit in one call: a task or a file is read, and everything order-blind is tried on it. No torch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from probe.audit import AuditResult


def audit_of(
    source: str | Path, against: str | Path | None = None, *, margin: float = 0.05, tokens: str = "both", seed: int = 0
) -> AuditResult:
    """Try to answer a data set without the order of its words, as `probe audit` does.

    Args:
        source: the name of a task, a task file, a folder or a data file of any form that `probe audit` reads.
        against: a training set; leaks between the two are looked for.
        margin: how far above chance an auditor may be shown to stay below for `clean`; declared, not chosen afterwards.
        tokens: `both` (words normalised, and as they stand), `normalised`, `raw`, or `char`.
        seed: of folds, resamples and permutations.

    Returns:
        The verdict, and every auditor's accuracy with its interval beside chance; shares of questions.

    Raises:
        NotThere: no such file or task.
        ProbeError: not readable as what it is; the message names file, record and what to do.
    """
    from probe.audit import audit
    from probe.tasks.readers import read

    other = None if against is None else read(against)
    return audit(read(source), margin=margin, against=other, tokens=tokens, seed=seed)
