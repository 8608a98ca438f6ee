"""The command line in this process: exit code, stdout, stderr; and never a traceback."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from probe import cli


class Said(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one object on stdout; anything else there fails."""
        return json.loads(self.out)


@pytest.fixture
def probe(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Said]:
    """Run a command in an empty folder."""
    monkeypatch.chdir(tmp_path)
    for name in ("COLUMNS", "FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: object) -> Said:
        capsys.readouterr()
        code = cli.run([str(argument) for argument in arguments])
        said = Said(code, *capsys.readouterr())
        assert "Traceback" not in said.out + said.err
        assert code != 70, said.err
        if code:
            assert said.err.startswith("error: ") or "\nerror: " in said.err
            assert said.out == "", "an error leaves stdout empty"
            message = said.err[said.err.index("error: ") :]
            assert len(message.splitlines()) <= 2
        return said

    return run
