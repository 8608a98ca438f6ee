"""Work side by side: one process a core, each with its own torch."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from probe.errors import ProbeError

Job = TypeVar("Job")
Result = TypeVar("Result")
Work = Callable[[Any, Callable[[Any], None]], Any]


def available_cores() -> int:
    """Cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS
        return os.cpu_count() or 1


def side_by_side(
    work: Callable[[Job, Callable[[Any], None]], Result],
    jobs: Sequence[Job],
    processes: int,
    on_event: Callable[[Job, Any], None] = lambda job, event: None,
) -> list[Result]:
    """Do `work(job, tell)` for every job in `processes` processes; results in the order of the jobs.

    One process, or one job, is done here, one job after another.

    `work` and the jobs must be picklable (a module-level function, frozen dataclasses); whatever a worker passes to
    `tell` reaches `on_event` here. Workers take the next job when free.

    Raises:
        ProbeError: of the first job that failed; the others are stopped. So are OSError and MemoryError passed on.
        KeyboardInterrupt: Ctrl-C, or SIGTERM to this process alone; passed on after the workers have ended.
    """
    count = min(processes, len(jobs))
    if count <= 1:
        return [work(job, lambda event, job=job: on_event(job, event)) for job in jobs]
    import multiprocessing

    context = multiprocessing.get_context("spawn")
    todo, told = context.Queue(), context.Queue()
    for number, job in enumerate(jobs):
        todo.put((number, job))
    for _ in range(count):
        todo.put(None)
    workers = [context.Process(target=_worker, args=(work, todo, told), daemon=True) for _ in range(count)]
    results: dict[int, Result] = {}
    try:
        for worker in workers:
            worker.start()
        with _passing_on(workers):
            _collect(workers, told, jobs, results, on_event)
    except BaseException as error:
        if not isinstance(error, KeyboardInterrupt):  # or they have been asked already
            _terminate(workers)
        _end(workers)
        raise
    for worker in workers:
        worker.join()
    return [results[number] for number in range(len(jobs))]


def _collect(
    workers: Sequence[Any],
    told: Any,
    jobs: Sequence[Job],
    results: dict[int, Result],
    on_event: Callable[[Job, Any], None],
) -> None:
    """Hear the workers until every job has its result."""
    while len(results) < len(jobs):
        try:
            kind, number, content = told.get(timeout=0.5)
        except queue.Empty:
            codes = [worker.exitcode for worker in workers]
            if told.empty() and (any(codes) or None not in codes):
                raise ProbeError(
                    f"a worker process ended with code {next(filter(None, codes), 0)} (out of memory, or killed) and "
                    "said nothing; run the same command again, what was saved is kept"
                ) from None
            continue
        if kind == "event":
            on_event(jobs[number], content)
        elif kind == "result":
            results[number] = content
        elif kind == "interrupted":
            raise KeyboardInterrupt
        elif kind == "fault":
            raise RuntimeError(f"in a worker process: {content}")
        else:
            raise content


SAVING = 3.0
"""Seconds that an interrupted worker has to save what it holds."""


@contextlib.contextmanager
def _passing_on(workers: Sequence[Any]) -> Iterator[None]:
    """Pass SIGTERM on to the workers: a terminal sends Ctrl-C to all processes, `kill` only to this one."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ask(number: int, frame: Any) -> None:
        _terminate(workers)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, ask)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _terminate(workers: Sequence[Any]) -> None:
    for worker in workers:
        if worker.is_alive():
            worker.terminate()


def _end(workers: Sequence[Any]) -> None:
    """Give workers that were asked to stop a moment to save, ask once more, and then end them."""
    until = time.monotonic() + SAVING
    for worker in workers:
        worker.join(timeout=max(0.0, until - time.monotonic()))
    _terminate(workers)
    for worker in workers:
        worker.join(timeout=1)
        if worker.is_alive():
            worker.kill()
            worker.join()


def _outlive_nobody() -> None:
    """End this worker when its parent is gone (killed outright, so that it could ask nobody): it would work unheard."""
    import multiprocessing

    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)  # a training saves, and stops
    time.sleep(SAVING)
    os._exit(1)


def _worker(work: Work, todo: Any, told: Any) -> None:
    """The loop of one process."""
    threading.Thread(target=_outlive_nobody, daemon=True).start()
    with contextlib.suppress(KeyboardInterrupt):
        while (item := todo.get()) is not None:
            number, job = item
            try:
                told.put(("result", number, work(job, lambda event, n=number: told.put(("event", n, event)))))
            except KeyboardInterrupt:
                told.put(("interrupted", number, None))
                return
            except (ProbeError, OSError, MemoryError) as error:  # what the command line has a line for
                told.put(("error", number, error))
                return
            except Exception:  # not foreseen: told where it is caught, with the worker's own traceback
                told.put(("fault", number, traceback.format_exc()))
                return
