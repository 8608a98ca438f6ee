"""The API page: every public name of `probe`, from its docstring, as one page that opens offline.

    python docs/api.py [FOLDER]         docs/api by default

A line on stderr for whatever pdoc warns of, and exit code 1.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import pdoc

import probe


def build(folder: Path) -> list[str]:
    """Write the page; returns what pdoc warned of."""
    for name in probe.__all__:  # names are imported when first used; pdoc looks for what is there
        setattr(probe, name, getattr(probe, name))
    pdoc.render.configure(docformat="google", footer_text=f"probe {probe.__version__}", search=False, show_source=False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pdoc.pdoc("probe", r"!probe\.", output_directory=folder)
    return sorted({str(warning.message) for warning in caught})


if __name__ == "__main__":
    into = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "api"
    said = build(into)
    print(f"{into / 'probe.html'}: {len(probe.__all__)} names")
    for line in said:
        print(line, file=sys.stderr)
    raise SystemExit(bool(said))
