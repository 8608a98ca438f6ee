"""A task file that is wrong is refused before a sentence is made: file, key, value, and the nearest valid choice."""

import pytest

from probe.errors import NotThere, ProbeError
from probe.tasks.dataset import make_dataset
from probe.tasks.spec import Cloze, load_task, parse_task, task_names

# name, text to replace in the small task, replacement, what the message must hold
BAD = [
    ("not TOML", 'title = "Small"', "title = Small", ["not valid TOML", "line 2"]),
    ("unknown key", 'title = "Small"', 'title = "Small"\ntemplat = "x"', ["templat", "unknown key", "'template'"]),
    ("unknown table", "[roles]", "[rolls]", ["rolls", "unknown key", "'roles'"]),
    ("unknown key in a table", 'method = "rev', 'metod = 1\nmethod = "rev', ["split.metod", "unknown key", "'method'"]),
    ("a sequence's key", 'title = "Small"', 'title = "Small"\nwords = 3', ["words", "unknown key"]),
    ("no title", 'title = "Small"\n', "", ["title", "missing"]),
    ("title is a number", 'title = "Small"', "title = 7", ["title", "7", "int", "expected str"]),
    ("title of two lines", 'title = "Small"', 'title = "Small\\nbig"', ["title", "one line"]),
    ("language", 'language = "en"', 'language = "en: [x"', ["language", "en: [x", "es"]),
    ("no lexicon", 'noun = ["ant", "bee", "cow", "doe"]\n', "", ["slots.x", "lexicon.noun"]),
    ("misspelt lexicon", 'x = ["noun"]', 'x = ["nuon"]', ["slots.x", "lexicon.nuon", "'noun'"]),
    ("empty lexicon", 'crosser = ["glad", "calm"]', "crosser = []", ["lexicon.crosser", "no words"]),
    ("slot without words", 'x = ["noun"]', "x = []", ["slots.x", "no words"]),
    ("slot that nothing fills", 'x = ["noun"]\n', "", ["slots.x", "nothing fills", "{x}"]),
    ("slot the template lacks", 'x = ["noun"]', 'x = ["noun"]\nz = ["noun"]', ["slots.z", "no slot {z}"]),
    ("word in two lists", '"glad", "calm"', '"glad", "ant"', ["lexicon.crosser", "'ant'", "lexicon.noun", "one role"]),
    ("word also in the template", '"glad", "calm"', '"glad", "met"', ["lexicon.crosser", "'met'", "template"]),
    ("word twice", '"glad", "calm"', '"glad", "glad"', ["lexicon.crosser", "'glad'", "twice"]),
    ("word with a blank", '"glad"', '"very glad"', ["lexicon.crosser", "'very glad'", "one token"]),
    ("empty word", '"glad"', '""', ["lexicon.crosser", "''"]),
    ("word with a brace", '"glad"', '"{glad}"', ["lexicon.crosser", "{glad}", "brace"]),
    ("word with an escape", '"glad"', '"gl\\u001b[1mad"', ["lexicon.crosser", "\\x1b", "control character"]),
    ("word is a number", '"glad"', "3", ["lexicon.crosser", "list of words"]),
    ("escape in the template", "for it was", "for\\u0007 it was", ["template", "control character"]),
    ("no answer in the template", "{answer} left", "it left", ["template", "{answer}"]),
    ("slot stands twice", "so {answer}", "so {x} {answer}", ["template", "{x}", "twice"]),
    ("glued slot", "{adjective} ,", "{adjective},", ["template", "{adjective},", "between blanks"]),
    ("answer before its reason", "so {answer} left", "so left", ["template", "{answer}"]),
    ("reason after the answer", "it was {adjective} , so {answer}", "{answer} it was {adjective}", ["can't be told"]),
    ("a list decides nothing", 'crossed = "y"\n', "", ["answer.crossed", "can't be told"]),
    ("one candidate only", 'crossed = "y"', 'crossed = "x"', ["answer", "two are needed"]),
    ("answer by no slot", 'by = "adjective"', 'by = "adjectiv"', ["answer.by", "'adjectiv'", "'adjective'"]),
    ("answer names no slot", 'crossed = "y"', 'crossed = "z"', ["answer.crossed", "'z'", "x", "y"]),
    ("role of no word", 'pronoun = "it"', 'pronoun = "id"', ["roles.pronoun", "'id'", "it, left"]),
    ("role of a word that stands twice", 'pronoun = "it"', 'pronoun = "the"', ["roles.pronoun", "'the'", "once"]),
    ("role of a slot", 'pronoun = "it"', 'x = "it"', ["roles.x", "slot"]),
    ("contrast in another slot", 'contrast = "adjective"', 'contrast = "x"', ["contrast", "'x'", "adjective"]),
    ("unknown split", '"reversed-pair"', '"reversed"', ["split.method", "'reversed'", "'reversed-pair'"]),
    ("share above 1", "held_out = 0.3", "held_out = 1.5", ["split.held_out", "1.5"]),
    ("share of nothing", "validation = 0.2", "validation = 0", ["split.validation", "empty"]),
    ("share is text", "validation = 0.2", 'validation = "0.2"', ["split.validation", "'0.2'", "float"]),
    ("share is true", "validation = 0.2", "validation = true", ["split.validation", "True"]),
    ("more than all pairs", "held_out = 0.3", "held_out = 0.9", ["split", "1.1", "more than all"]),
    ("unknown cheat", '"bag-of-words"', '"bag-of-word"', ["cheats.stops", "'bag-of-word'", "'bag-of-words'"]),
    ("stopped and allowed", "allows = []", 'allows = ["bag-of-words"]', ["cheats", "'bag-of-words'", "both"]),
    ("unknown order", "[split]", '[pairs]\norder = "lexical"\n[split]', ["pairs.order", "'lexical'", "'lexicon'"]),
    ("prior of no list", "[split]", "[pairs.prior]\nlexicon = 'nuon'\nshare = 0.9\n[split]", ["'nuon'", "'noun'"]),
    ("prior of all", "[split]", "[pairs.prior]\nlexicon = 'noun'\nshare = 1.0\n[split]", ["pairs.prior.share", "1.0"]),
    ("goes with no word", "[split]", "[goes_with]\nglad = ['aunt']\n[split]", ["goes_with.glad", "'aunt'", "'ant'"]),
    ("no word goes", "[split]", "[goes_with]\ngald = ['ant']\n[split]", ["goes_with.gald", "'glad'"]),
    ("both kinds", "[split]", "[sequence]\nrule = 'repeat'\n[split]", ["unknown key"]),
]  # fmt: skip

BAD_SEQUENCE = [
    ("unknown rule", 'rule = "repeat"', 'rule = "repeats"', ["sequence.rule", "'repeats'", "'repeat'"]),
    ("period too short", "periods = [4, 6]", "periods = [2, 6]", ["sequence.periods", "[2, 6]", "3 … 7"]),
    ("period too long", "periods = [4, 6]", "periods = [4, 8]", ["sequence.periods", "3 … 7"]),
    ("period needs words", "words = 12", "words = 5", ["sequence.periods", "3 … 5"]),
    ("period is no pair", "periods = [4, 6]", "periods = [4]", ["sequence.periods", "[smallest, largest]"]),
    ("too short", "length = 8", "length = 2", ["sequence.length", "2"]),
    ("empty side", "validation = 8", "validation = 0", ["split.validation", "empty"]),
    ("share for a count", "validation = 8", "validation = 0.1", ["split.validation", "0.1", "int"]),
    ("triples have no period", 'rule = "repeat"', 'rule = "triples"', ["sequence.periods", "triples"]),
]


@pytest.mark.parametrize(("old", "new", "parts"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_a_bad_cloze_file_is_refused_by_file_key_and_value(task_file, old, new, parts):
    path = task_file((old, new))
    with pytest.raises(ProbeError) as error:
        load_task(path)
    for part in [str(path), *parts]:
        assert part in str(error.value)


@pytest.mark.parametrize(("old", "new", "parts"), [c[1:] for c in BAD_SEQUENCE], ids=[c[0] for c in BAD_SEQUENCE])
def test_a_bad_sequence_file_is_refused_by_file_key_and_value(task_file, sequence_text, old, new, parts):
    path = task_file((old, new), text=sequence_text)
    with pytest.raises(ProbeError) as error:
        load_task(path)
    for part in [str(path), *parts]:
        assert part in str(error.value)


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ([("validation = 0.2", "validation = 0.01")], ["leaves validation empty", "0.01"]),
        ([("held_out = 0.3", "held_out = 0.01")], ["leaves held_out empty", "0.01"]),
        ([('"reversed-pair"', '"held-out-pair"'), ("held_out = 0.3", "held_out = 0.8")], ["train empty", "1.0"]),
        ([("[roles]", '[pairs]\norder = "lexicon"\n[roles]')], ["leaves validation empty"]),  # no pair has its reverse
        ([("[roles]", "[goes_with]\ncrosser = []\ncrossed = []\n[roles]")], ["no sentence is left"]),
    ],
)  # fmt: skip
def test_a_side_that_would_be_empty_is_refused_with_the_file(task_file, changes, parts):
    path = task_file(*changes)
    with pytest.raises(ProbeError) as error:
        make_dataset(load_task(path))
    for part in [str(path), *parts]:
        assert part in str(error.value)


@pytest.mark.parametrize("name", ["wino\ngrad", "../up", "a/b", "a\\b", ".hidden", "", " "])
def test_a_name_that_cannot_be_a_folder_is_refused(name):
    content = dict(load_task("winograd-hard").source)
    with pytest.raises(ProbeError, match="cannot name folders"):
        parse_task(content, name=name, where="task.json")


def test_files_that_are_no_task_files_are_refused_by_name(tmp_path):
    with pytest.raises(NotThere, match=r"there is no task 'winogrd-hard'; did you mean 'winograd-hard'"):
        load_task("winogrd-hard")
    with pytest.raises(NotThere, match="nothing.toml does not exist"):
        load_task(tmp_path / "nothing.toml")
    (tmp_path / "latin.toml").write_bytes('title = "niño"'.encode("latin-1"))
    with pytest.raises(ProbeError, match=r"latin.toml: byte 11 is not UTF-8"):
        load_task(tmp_path / "latin.toml")
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(ProbeError, match=r"folder.toml is a folder"):
        load_task(tmp_path / "folder.toml")


def test_a_byte_order_mark_is_forgiven(task_file, tmp_path):
    plain = task_file()
    (tmp_path / "marked.toml").write_bytes(b"\xef\xbb\xbf" + plain.read_bytes())
    assert load_task(tmp_path / "marked.toml").digest == load_task(plain).digest


def test_overrides_set_what_the_file_may_have_and_nothing_else(task_file):
    path = task_file()
    assert load_task(path, {"split.held_out": 0.4}).split.held_out == 0.4
    assert load_task(path, {"title": "Other"}).title == "Other"
    for overrides, message in [
        ({"split.heldout": 0.4}, r"split\.heldout: unknown key; did you mean 'held_out'"),
        ({"spilt.held_out": 0.4}, "no table 'spilt'; did you mean 'split'"),
        ({"split.held_out": 4}, r"split\.held_out: 4\.0"),
        ({"title.x": 1}, "no table 'title'"),
    ]:
        with pytest.raises(ProbeError, match=message):
            load_task(path, overrides)


def test_the_digest_is_of_the_content_alone(task_file):
    path = task_file()
    copied = task_file(name="copy.toml")
    assert load_task(path).digest == load_task(copied).digest
    assert load_task(path).digest != load_task(path, {"split.held_out": 0.4}).digest


@pytest.mark.parametrize("name", task_names())
def test_every_shipped_task_says_which_cheats_it_stops_and_allows_and_why(name):
    from probe.tasks.spec import task_folder

    spec = load_task(name)
    lines = (task_folder() / f"{name}.toml").read_text("utf-8").splitlines()
    comment = "".join(line for line in lines if line.startswith("#"))
    assert spec.title
    assert "Allows" in comment or "Stops" in comment
    assert len(spec.allows) <= 1, "a cheat variant opens exactly one hole"
    if isinstance(spec.question, Cloze):
        assert spec.question.contrast == spec.question.decided_by


def test_the_tasks_of_the_project_are_there():
    assert set(task_names()) >= {
        "winograd-hard", "winograd-easy", "winograd-fixed-order", "winograd-prior", "winograd-collocation",
        "winograd-leaky-split", "winograd-es", "winograd-es-agreement", "winograd-ru", "winograd-ru-agreement",
        "induction", "previous-token",
    }  # fmt: skip
