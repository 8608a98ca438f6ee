"""Where the rooms are joined: data sets and runs are found, runs are planned and trained, models opened, maps made.

The command line and the notebooks call these functions; nothing below knows of run folders *and* torch. Torch itself is
imported inside the functions that need it.
"""

from __future__ import annotations

import contextlib
import math
import re
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from probe import store
from probe.errors import NotThere, ProbeError, nearest
from probe.files import digest, read_text, to_json, write_atomic
from probe.models.config import ModelConfig, make_config
from probe.result import AnalysisResult, Provenance, versions
from probe.store import Run
from probe.tasks.dataset import Dataset, load_dataset, make_dataset
from probe.tasks.spec import load_task, parse_task
from probe.training.config import TrainingConfig

if TYPE_CHECKING:
    from probe.analyses.trace import Contrast, Trace
    from probe.models.transformer import Transformer

DEFAULT_TASK = "winograd-hard"


# -- data sets -----------------------------------------------------------------------------------------------------


def open_dataset(task: str | None, data: Path) -> tuple[Dataset, str]:
    """The data set that `--task` means, and where it came from, in words.

    A folder is loaded. A name or task file is loaded from `data` if it was generated there, else generated with seed 0.
    None is the last generated one, or winograd-hard.
    """
    if task is None:
        latest = data / store.LATEST
        name = read_text(latest, "file").strip() if latest.exists() else ""
        if name and (data / name / "task.json").exists():
            return load_dataset(data / name), f"the last generated task, {data / name}"
        task = DEFAULT_TASK
    if Path(task).is_dir():
        return load_dataset(Path(task)), f"folder {task}"
    if (data / task / "task.json").exists():
        return load_dataset(data / task), f"folder {data / task}"
    return make_dataset(load_task(task), seed=0), f"task {task}, generated with seed 0"


def run_dataset(run: Run) -> Dataset:
    """The data set a run was trained on, generated again from its manifest and checked against its digest."""
    where = f"{run.path}/manifest.json"
    spec = parse_task(run.manifest["spec"], name=run.manifest["task"], where=where)
    dataset = make_dataset(spec, seed=run.manifest["data_seed"])
    if dataset.digest != run.manifest["data_sha256"]:
        raise ProbeError(f"{where}: the task no longer generates the sentences that this run was trained on")
    return dataset


# -- training ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What to train: everything but the seed is shared by the runs of a sweep."""

    dataset: Dataset
    variant: str
    model: ModelConfig
    training: TrainingConfig
    device: str = "cpu"
    threads: int = 1


def make_plan(
    dataset: Dataset,
    variant: str,
    training: TrainingConfig,
    model: Mapping[str, Any] | None = None,
    device: str = "cpu",
    threads: int = 1,
) -> Plan:
    """Fit a named variant, with changed `model` settings, to the words and the sentence length of a data set."""
    n_ctx = max(len(example.tokens) for example in dataset.examples)
    config = make_config(variant, **{"d_vocab": len(dataset.vocabulary), "n_ctx": n_ctx, **(model or {})})
    if config.d_vocab != len(dataset.vocabulary):
        raise ProbeError(
            f"d_vocab = {config.d_vocab}: {dataset.name} has {len(dataset.vocabulary)} words; leave it out"
        )
    for name in ("lr", "weight_decay"):
        if not math.isfinite(getattr(training, name)):
            raise ProbeError(f"{name} = {getattr(training, name)}: not a number that training could use")
    if training.batch_size > 100 * len(dataset.train):
        raise ProbeError(f"batch_size = {training.batch_size}: train holds {len(dataset.train)} sentences")
    return Plan(dataset=dataset, variant=variant, model=config, training=training, device=device, threads=threads)


def plan_run(plan: Plan, runs: Path, argv: Sequence[str] = ()) -> Run:
    """Make the run's folder, or open the one that the same settings made before. Trains nothing yet."""
    dataset, training = plan.dataset, plan.training
    settings = {
        "task": dataset.name,
        "spec": dict(dataset.spec.source),
        "data_seed": dataset.seed,
        "data_sha256": dataset.digest,
        "variant": plan.variant,
        "training": training.as_dict(),
    }
    key = digest({**settings, "model": plan.model.as_dict()})[:8]
    name = f"{dataset.name}-{plan.model.n_layers}b-s{training.seed}-{key}"
    if (runs / name / "manifest.json").exists():
        return store.open_run(runs, name)
    manifest = {
        **settings,
        "task_digest": dataset.spec.digest,
        "argv": list(argv),
        "device": plan.device,
        "threads": plan.threads,
        "dtype": "float32",
        "versions": versions(),
        "git_commit": git_commit(),
    }
    return store.create_run(runs, name, manifest, plan.model.as_dict(), dataset.vocabulary)


def advance_run(
    run: Run,
    tell: Callable[[dict[str, Any]], None] = lambda row: None,
    stop: Callable[[], bool] = lambda: False,
    dataset: Dataset | None = None,
) -> dict[str, Any]:
    """Train a planned run to its end, from its newest checkpoint if it has one; returns its summary.

    `dataset` saves generating it again from the manifest; it must be the one that the manifest names.

    Raises:
        KeyboardInterrupt: `stop` became true; the state is saved, calling again continues to the same bytes.
    """
    if run.finished and (run.path / "results" / "summary.json").exists():
        return summary(run)
    import torch

    from probe.models.transformer import Transformer, initialised, parameter_count
    from probe.training import checkpoints, loop

    torch.set_num_threads(run.manifest["threads"])
    device = run.manifest.get("device", "cpu")
    config = ModelConfig.from_dict(run.config, f"{run.path}/config.json")
    training = TrainingConfig.from_dict(run.manifest["training"], f"{run.path}/manifest.json: training")
    data = loop.training_data(dataset or run_dataset(run), device)
    newest = store.checkpoint_path(run, "state")
    earlier = 0.0
    if newest.exists():
        state = loop.start(Transformer(config).to(device), training)
        checkpoints.load_state_arrays(state, store.load_arrays(newest), str(newest))
        store.truncate_metrics(run, state.step)
        earlier = max((row["seconds"] for row in store.read_metrics(run)), default=0.0)
    else:
        generator = torch.Generator().manual_seed(training.seed)
        state = loop.start(initialised(config, generator).to(device), training)
        store.truncate_metrics(run, -1)

    def save(weights: bool) -> None:
        if weights:
            store.save_arrays(store.checkpoint_path(run, state.step), checkpoints.model_arrays(state.model))
        store.save_arrays(newest, checkpoints.state_arrays(state))

    for evaluation in loop.train(state, data, training, stop):
        row = {
            "step": evaluation.step,
            "loss": round(evaluation.loss, 6),
            "validation": evaluation.validation.as_dict(),
            "held_out": evaluation.held_out.as_dict(),
            "seconds": round(earlier + evaluation.seconds, 3),
        }
        store.append_metrics(run, row)
        tell(row)
        if state.step % training.checkpoint_every == 0:
            save(weights=True)
    if not state.done:
        save(weights=False)
        raise KeyboardInterrupt
    rows = store.read_metrics(run)
    first, last = rows[0], rows[-1]
    result = {
        "steps": state.step,
        "seconds": last["seconds"],
        "parameters": parameter_count(state.model),
        "validation": last["validation"],
        "held_out": last["held_out"],
        "untrained": {"validation": first["validation"], "held_out": first["held_out"]},
    }
    write_atomic(run.path / "results" / "summary.json", to_json(result) + "\n")
    store.save_arrays(run.path / "model.safetensors", checkpoints.model_arrays(state.model))
    newest.unlink(missing_ok=True)
    return summary(run)


def summary(run: Run) -> dict[str, Any]:
    """What came out of a finished run, from its folder alone; the object that `probe train --json` prints."""
    from probe.files import read_json

    if not run.finished:
        raise NotThere(f"run {run.name} is not finished; continue it with: probe train --resume {run.name}")
    values = read_json(run.path / "results" / "summary.json", "summary")
    for key in ("steps", "seconds", "parameters", "validation", "held_out", "untrained"):
        if key not in values:
            raise ProbeError(f"{run.path}/results/summary.json: {key} is missing; remove the file and train again")
    return {
        "run": run.name,
        "path": str(run.path),
        "task": run.manifest["task"],
        "variant": run.manifest["variant"],
        "blocks": ModelConfig.from_dict(run.config, f"{run.path}/config.json").n_layers,
        "seed": run.manifest["training"]["seed"],
        **values,
    }


def train_here(
    run: Run, tell: Callable[[dict[str, Any]], None] = lambda row: None, dataset: Dataset | None = None
) -> dict[str, Any]:
    """Train in this process; Ctrl-C or SIGTERM saves first, then raises KeyboardInterrupt."""
    with interruptible() as stop:
        result = advance_run(run, tell, stop, dataset)
    store.mark_latest(run)
    return result


def train_side_by_side(
    runs: Sequence[Run], processes: int, tell: Callable[[Run, dict[str, Any]], None] = lambda run, row: None
) -> list[dict[str, Any]]:
    """Train several runs, one process a core."""
    from probe.training.seeds import side_by_side

    paths = [run.path for run in runs]
    by_path = dict(zip(paths, runs, strict=True))
    results = side_by_side(_train_path, paths, processes, lambda path, row: tell(by_path[path], row))
    store.mark_latest(runs[-1])
    return results


def _train_path(path: Path, tell: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """The work of one process of a sweep: the run's folder says all there is to know."""
    with interruptible() as stop:
        return advance_run(store.open_run(path.parent, path.name), tell, stop)


@contextlib.contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
    """Turn Ctrl-C and SIGTERM into a question that a loop asks between two steps. A second Ctrl-C does not wait."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked.is_set
        return

    def ask(number: int, frame: Any) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked.is_set
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def git_commit() -> str | None:
    """The commit of the checkout that probe runs from, or None."""
    folder = Path(__file__).parent
    if not any((parent / ".git").exists() for parent in folder.parents):
        return None
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), "rev-parse", "HEAD"], capture_output=True, text=True, timeout=5, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None


# -- looking -------------------------------------------------------------------------------------------------------


def open_model(run: Run, step: int | None = None) -> Transformer:
    """The model of a run, as it was at its end or at a checkpoint."""
    from probe.models.transformer import Transformer
    from probe.training.checkpoints import load_model_arrays

    if step is not None and step not in store.checkpoint_steps(run):
        raise NotThere(f"run {run.name} kept no weights of step {step}; it has {store.checkpoint_steps(run)}")
    path = run.path / "model.safetensors" if step is None else store.checkpoint_path(run, step)
    config = ModelConfig.from_dict(run.config, f"{run.path}/config.json")
    if config.d_vocab != len(run.vocabulary):
        raise ProbeError(
            f"{run.path}: config.json has d_vocab = {config.d_vocab}, vocabulary.json {len(run.vocabulary)}"
        )
    model = Transformer(config)
    load_model_arrays(model, store.load_arrays(path), str(path))
    return model


def provenance(run: Run) -> Provenance:
    """Where numbers that are computed from this run come from."""
    weights = run.path / "model.safetensors"
    return Provenance(
        task_digest=run.manifest["task_digest"],
        model_digest=digest(weights.read_bytes()) if weights.exists() else "",
        seed=run.manifest["training"]["seed"],
        versions=run.manifest["versions"],
        threads=run.manifest["threads"],
        dtype=run.manifest["dtype"],
        git_commit=run.manifest["git_commit"],
    )


@dataclass(frozen=True, kw_only=True)
class Question:
    """Sentences to look at, and where in each."""

    title: str
    sentences: tuple[tuple[str, ...], ...]
    queries: tuple[int, ...]
    """The position whose row is read out; its next word is predicted."""
    candidates: tuple[tuple[str, ...], ...]
    """The two words in question of each sentence; empty where it is none of the task's."""
    answers: tuple[str | None, ...]

    @property
    def key(self) -> str:
        """Names the result of this question in a run's folder."""
        return f"attn-{digest([list(map(list, self.sentences)), list(self.queries)])[:10]}"


def ask(run: Run, text: str, against: str | None = None, pair: bool = False, query: str | None = None) -> Question:
    """Turn typed sentences into a question, with the help of the run's task.

    Args:
        run: whose vocabulary and task count.
        text: a sentence or its beginning; ending in dots it stands for the first minimal pair that begins so.
        against: a second sentence to compare with.
        pair: compare with the other sentence of the minimal pair.
        query: a word or position; by default the one before the answer, or else the last.
    """
    from probe.tasks import completion

    dataset = run_dataset(run)
    words = run.vocabulary
    if words != dataset.vocabulary:
        raise ProbeError(f"{run.path}/vocabulary.json: these are not the words of {dataset.name} that the run learned")
    chosen: list[tuple[tuple[str, ...], Any]] = []
    for sentence in [text] if against is None else [text, against]:
        if completion.is_open(sentence):
            both = completion.complete(sentence, dataset)
            kept = both if against is None else both[:1]
            chosen += [(example.prompt, example) for example in kept]
        else:
            tokens = completion.words_of(sentence, words)
            chosen.append((tokens, completion.find_prompt(tokens, dataset)))
    if pair and len(chosen) == 1:
        tokens, example = chosen[0]
        if example is None:
            raise ProbeError(
                f"--pair: {' '.join(tokens)!r} is no prompt of {dataset.name}; end it in ... or use --against"
            )
        other = completion.partner(example, dataset)
        chosen.append((other.tokens[: len(tokens)], other))
    queries = []
    for tokens, example in chosen:
        if query is not None:
            queries.append(_position(query, tokens))
        else:
            queries.append(len(tokens) - 1 if example is None else example.positions["answer"] - 1)
    return Question(
        title=" ".join(text.split()),
        sentences=tuple(tokens for tokens, _ in chosen),
        queries=tuple(queries),
        candidates=tuple(() if example is None else example.candidates for _, example in chosen),
        answers=tuple(
            None if example is None or at != example.positions["answer"] - 1 else example.answer
            for (_, example), at in zip(chosen, queries, strict=True)
        ),
    )


def _position(query: str, tokens: Sequence[str]) -> int:
    """The position that `--query` names, by number or by a word that stands once."""
    if re.fullmatch(r"-?[0-9]+", query) and query not in tokens:
        position = int(query)
        if not -len(tokens) <= position < len(tokens):
            raise ProbeError(f"--query {query}: the sentence has positions 0 … {len(tokens) - 1}")
        return position % len(tokens)
    places = [i for i, token in enumerate(tokens) if token == query]
    if len(places) == 1:
        return places[0]
    if places:
        raise ProbeError(f"--query {query}: stands at positions {', '.join(map(str, places))}; give a number")
    raise ProbeError(f"--query {query}: no such word in the sentence; {nearest(query, tokens)}")


def attention_of(run: Run, question: Question) -> tuple[AnalysisResult, AnalysisResult]:
    """Attention and prediction for a question: read from the run's folder, or computed and kept there.

    What is there already is shown without importing torch.
    """
    keys = (f"{question.key}-attention", f"{question.key}-prediction")
    found = [store.load_result(run, key) for key in keys]
    source = provenance(run)
    if found[0] is not None and found[1] is not None and found[0].provenance == found[1].provenance == source:
        return found[0], found[1]
    from probe.analyses.attention import attention
    from probe.analyses.prediction import prediction

    model, words = open_model(run), run.vocabulary
    ids = [words.encode(sentence) for sentence in question.sentences]
    results = (
        attention(model, question.sentences, ids, source),
        prediction(model, question.sentences, ids, words.words, question.queries, source),
    )
    for key, result in zip(keys, results, strict=True):
        store.save_result(run, key, result)
    return results


# -- tracing -------------------------------------------------------------------------------------------------------


def contrasts_of(dataset: Dataset, pairs: int | None = None) -> list[Contrast]:
    """The contrasts that a cloze task allows, over its held-out pairs: the word of its contrast, and the nouns' order.

    Both directions of a minimal pair count, so that no kind of adjective is the clean one. `pairs` takes about so many,
    evenly spaced.
    """
    from probe.analyses.trace import Contrast
    from probe.tasks.dataset import minimal_pairs
    from probe.tasks.spec import Cloze

    cloze = dataset.spec.question
    if not isinstance(cloze, Cloze) or cloze.contrast is None:
        raise ProbeError(f"{dataset.name} declares no contrast to trace; use a task with one, as winograd-hard")
    minimal = minimal_pairs(dataset.held_out)
    by_words = {example.prompt: example for example in dataset.examples}
    first, second = cloze.candidate_slots
    swapped = []
    for example in dataset.held_out:
        prompt, (x, y) = list(example.prompt), (example.positions[first], example.positions[second])
        prompt[x], prompt[y] = prompt[y], prompt[x]
        if tuple(prompt) in by_words:
            swapped.append((example, by_words[tuple(prompt)]))
    found = {cloze.contrast: [*minimal, *((b, a) for a, b in minimal)], "order of the nouns": swapped}
    words = dataset.vocabulary
    contrasts = []
    for name, both in found.items():
        both = both[:: max(1, len(both) // pairs)] if pairs else both
        if not both:
            continue
        positions = both[0][0].positions
        roles = {i: token for i, token in enumerate(both[0][0].prompt)}
        roles |= {i: role for role, i in positions.items() if i < positions["answer"]}
        tensors = {
            "clean": words.batch_of([a.prompt for a, _ in both]),
            "other": words.batch_of([b.prompt for _, b in both]),
            "answer": words.encode([a.answer for a, _ in both]),
            "other_answer": words.encode([b.answer for _, b in both]),
        }
        roles[positions["answer"] - 1] = "answer's place"
        contrasts.append(Contrast(name=name, groups=[a.group for a, _ in both], roles=roles, **_as_tensors(tensors)))
    return contrasts


def _as_tensors(arrays: Mapping[str, Any]) -> dict[str, Any]:
    import torch

    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def trace_run(run: Run, pairs: int | None = None) -> list[Trace]:
    """Trace every contrast of a run's task, and keep the tables with the run."""
    import torch

    from probe.analyses.trace import trace

    torch.set_num_threads(run.manifest["threads"])
    model, dataset = open_model(run), run_dataset(run)
    traces = []
    for contrast in contrasts_of(dataset, pairs):
        done = trace(model, contrast, provenance(run))
        for result in (done.nodes, done.edges, done.ways):
            store.save_result(run, result.name.replace(" ", "-"), result)
        traces.append(done)
    return traces
