"""The command line: wiring only. Nothing heavy is imported before a command runs, so that `--help` answers at once.

Results go to stdout, progress and hints to stderr. Exit codes: 0 done, 1 a check that was asked for failed, 2 wrong
usage or bad input, 3 a run, task or model that is not there, 130 interrupted, 70 a fault of ours.
"""

from __future__ import annotations

import errno
import io
import os
import re
import sys
from collections.abc import Sequence

import typer

from probe.cli.attn_map import attn_map
from probe.cli.audit import audit
from probe.cli.compare import compare
from probe.cli.figure import figure
from probe.cli.generate_task import generate_task
from probe.cli.heads import heads
from probe.cli.listing import doctor, runs, tasks
from probe.cli.probes import probes
from probe.cli.report import report
from probe.cli.reproduce import reproduce
from probe.cli.selftest import selftest
from probe.cli.trace import trace
from probe.cli.train import train
from probe.cli.verify import verify
from probe.errors import ProbeError

app = typer.Typer(
    name="probe",
    help="What a small transformer looks at, and whether that causes its answer.",
    epilog="First steps: probe generate-task winograd-hard; probe train --blocks 2; "
    'probe attn-map "the animal did not cross..."',
    rich_markup_mode=None,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

COMMANDS = {
    "generate-task": generate_task,
    "train": train,
    "attn-map": attn_map,
    "audit": audit,
    "heads": heads,
    "trace": trace,
    "probes": probes,
    "report": report,
    "compare": compare,
    "verify": verify,
    "figure": figure,
    "reproduce": reproduce,
    "selftest": selftest,
    "tasks": tasks,
    "runs": runs,
    "doctor": doctor,
}
INTERRUPTED = "interrupted; what was saved is kept, the same command goes on from there"

for _name, _function in COMMANDS.items():
    app.command(_name)(_function)


def main(argv: Sequence[str] | None = None) -> None:
    """Run a command and end the process with its exit code; never with a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal or pipe that cannot encode a word still gets it
    # torch would look through every installed package for further device backends; we use cpu and cuda
    os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
    # models of this size gain nothing from a second thread, and lose much to it on a busy machine (docs/LOG.md)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(run(list(sys.argv[1:] if argv is None else argv)))


def run(argv: list[str]) -> int:
    """Run a command; errors become one or two lines on stderr. Returns the exit code."""
    try:
        code = app(args=argv or ["--help"], prog_name="probe", standalone_mode=False)
        sys.stdout.flush()
        if code == 130:  # what typer makes of Ctrl-C
            return _complain(INTERRUPTED, 130)
        return code if isinstance(code, int) else 0
    except ProbeError as error:
        return _complain(str(error), error.exit_code)
    except KeyboardInterrupt:
        return _complain(INTERRUPTED, 130)
    except BrokenPipeError:
        return _closed_pipe()
    except SystemExit as error:  # what typer and rich make of a closed pipe
        if isinstance(error.__context__, BrokenPipeError):
            return _closed_pipe()
        raise
    except OSError as error:
        reasons = {errno.ENOSPC: "the disk is full; free some space and run the same command again"}
        reason = reasons.get(error.errno or 0, f"{error.strerror or error}")
        return _complain(f"{error.filename or 'a file'}: {reason}", 2)
    except Exception as error:
        if type(error).__name__ == "Abort":  # what older typers make of Ctrl-C
            return _complain(INTERRUPTED, 130)
        usage = getattr(error, "format_message", None)  # typer's usage errors
        if usage is not None:
            return _complain(_usage(usage(), argv), 2)
        if os.environ.get("PROBE_TRACEBACK"):
            raise
        if isinstance(error, MemoryError) or re.search("allocate memory|out of memory", str(error)):
            return _complain("there is not enough memory for this; take a smaller model, batch or sentence", 2)
        return _complain(
            f"this is a fault of probe: {type(error).__name__}: {error}\n"
            "       set PROBE_TRACEBACK=1 to see where, and please report it",
            70,
        )


def _usage(message: str, argv: list[str]) -> str:
    """What typer says of a wrong command line, and where to look."""
    command = next((word for word in argv if word in COMMANDS), None)
    option = re.match(r"Invalid value for '(--[\w-]+)'", message)
    if option and option[1] in argv[:-1]:  # typer names the option, not what was typed
        message = message.replace(option[0], f"{option[1]} {argv[argv.index(option[1]) + 1]!r}", 1)
    quotes = " (put the sentence in quotes)" if command == "attn-map" and "extra argument" in message else ""
    return f"{message}{quotes} (see probe {f'{command} ' if command else ''}--help)"


def _closed_pipe() -> int:
    """The reader has seen enough (`probe tasks | head -1`): no failure, and nothing more to flush at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _complain(message: str, code: int) -> int:
    print(f"error: {message}", file=sys.stderr)
    return code
