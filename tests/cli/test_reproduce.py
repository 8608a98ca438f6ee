"""`probe reproduce`: what it prints, writes, and ends with."""

from __future__ import annotations

from pathlib import Path

import pytest

from probe.lab import reproducing
from probe.reproductions import MINUTES
from probe.reproductions.claims import Claim, Job, Reproduction, above, exactly


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch):
    """Put one reproduction, with one claim about the number 1, in every name's place."""

    def put(rule) -> None:
        one = Reproduction(
            name="sizes", title="T", setting="S", jobs=[Job(key="a", measure=lambda *_: {"number": 1}, seeded=False)],
            claims=[Claim(statement="the number", value=lambda m: m["a"]["number"], rule=rule)],
        )  # fmt: skip
        monkeypatch.setattr(reproducing, "reproduction_of", lambda name: one)

    return put


def test_list_says_how_long_each_takes(probe) -> None:
    said = probe("reproduce", "--list")
    assert [line.split()[0] for line in said.out.splitlines()] == list(MINUTES)
    assert all("min on 2 cores" in line for line in said.out.splitlines())
    assert len(probe("reproduce", "--list", "--json").json["reproductions"]) == len(MINUTES)


def test_the_identities_hold_and_leave_a_section(probe, tmp_path: Path) -> None:
    said = probe("reproduce", "identities", "--quiet")
    assert said.code == 0
    assert "differs" not in said.out.lower()
    folder = tmp_path / "reproductions" / "identities"
    assert {path.name for path in folder.iterdir()} >= {"identities.md", "identities.html", "rows"}
    assert (
        probe("reproduce", "identities", "--judge", "--json").json["reproductions"]["identities"][0]["verdict"]
        == "agrees"
    )


def test_a_measurement_that_differs_is_a_finding_and_no_error(probe, install) -> None:
    install(above(2))
    said = probe("reproduce", "sizes", "--quiet")
    assert said.code == 0
    assert "DIFFERS" in said.out


def test_an_exact_statement_that_fails_is_exit_code_1(
    install, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from probe.cli import run

    install(exactly(2))
    assert run(["reproduce", "sizes", "--out", str(tmp_path), "--quiet"]) == 1
    said = capsys.readouterr()
    assert "DIFFERS" in said.out
    assert said.err == "error: 1 exact statements do not hold: the number\n"


def test_nothing_run_is_judged_as_not_run(probe, tmp_path: Path) -> None:
    said = probe("reproduce", "identities", "--judge")
    assert said.code == 0
    assert "not run 14" in said.out and "no row was run with these settings yet" in said.out
    assert not (tmp_path / "reproductions").exists()


@pytest.mark.parametrize("further", [[], ["--judge"]])
def test_a_further_seed_that_was_run_stays_in_the_table(
    probe, monkeypatch: pytest.MonkeyPatch, further: list[str]
) -> None:
    one = Reproduction(
        name="sizes", title="T", setting="S", jobs=[Job(key="a", measure=lambda _, seed, __: {"number": seed})],
        claims=[Claim(statement="the number", value=lambda m: m["a"]["number"], rule=above(-1))],
    )  # fmt: skip
    monkeypatch.setattr(reproducing, "reproduction_of", lambda name: one)
    probe("reproduce", "sizes", "--seeds", "3", "--quiet")
    assert "3 seeds" in probe("reproduce", "sizes", "--quiet", *further).out
    assert "3 seeds" not in probe("reproduce", "sizes", "--quiet", "--seeds", "1", *further).out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["lader"], 3, "did you mean 'ladder'"),
        ([], 2, "--list says what each takes"),
        (["ladder"], 3, "--corpus FILE, or fetch it with --download"),
        (["ladder", "--corpus", "nothing.txt"], 3, "--corpus nothing.txt: no such file"),
        (["sizes", "--config", "nothing.json"], 2, "--config nothing.json: no such file"),
        (["cost", "--config", "any.json"], 2, "only sizes reads one"),
        (["scaling", "--corpus", __file__, "--seeds", "0"], 2, "--seeds 0: how many"),
        (["identities", "--seeds", "2"], 2, "no seeds; leave --seeds out"),
        (["cost", "--processes", "2"], 2, "leave --processes out"),
        (["sizes", "--download"], 2, "reads no corpus; leave --download out"),
        (["ladder", "--download", "--judge"], 2, "--download and --judge"),
        (["ladder", "--download", "--corpus", __file__], 2, "--download and --corpus"),
        (["identities", "--seeds", "0-3"], 2, "--seeds 0-3: how many"),
        (["identities", "--processes", "0"], 2, "--processes 0"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    probe, arguments: list[str], code: int, message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    said = probe("reproduce", *arguments)
    assert said.code == code
    assert message in said.err


def test_a_quick_look_says_that_it_is_quick(probe) -> None:
    said = probe("reproduce", "identities", "--quick", "--quiet")
    assert "QUICK" in said.out
    assert "not judged (quick)" in said.out
