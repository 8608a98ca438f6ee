"""`probe selftest`."""

from __future__ import annotations

from probe.cli.options import AsJson, print_json
from probe.errors import CheckFailed


def selftest(json: AsJson = False) -> None:
    """Run every metric on models and maps whose value is known. Exit code 1 on any miss."""
    from dataclasses import asdict
    from textwrap import wrap

    from probe.lab.selftest import WITHOUT_ORACLE
    from probe.lab.selftest import selftest as run_all

    checks = run_all()
    if json:
        print_json({"checks": [{**asdict(check), "passed": check.passed} for check in checks]})
    else:
        print(f"{'metric':36}{'oracle':36}{'expected':>13}{'measured':>16}")
        for check in checks:
            verdict = "" if check.passed else "   MISS"
            print(f"{check.metric:36}{check.oracle:36}{check.expected:>13.6g}{check.measured:>16.9g}{verdict}")
        print("\n" + "\n".join(wrap(f"without an oracle: {'; '.join(WITHOUT_ORACLE)}", 80)))
    missed = [f"{check.metric} on {check.oracle}" for check in checks if not check.passed]
    if missed:
        raise CheckFailed(f"{len(missed)} of {len(checks)} checks missed: {'; '.join(missed)}")
    if not json:
        print(f"all {len(checks)} checks passed")
