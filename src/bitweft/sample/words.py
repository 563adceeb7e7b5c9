"""The words of the sample, read from the tables beside this file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from bitweft.sample import english, french
from bitweft.sample.phrases import Ranked, Template


@dataclass(frozen=True, slots=True)
class Noun:
    """Hold a noun, singular and plural."""

    singular: Template
    plural: Template
    feminine: bool
    mass: bool


@dataclass(frozen=True, slots=True)
class Adjective:
    """Hold an adjective, and whether it stands before its noun in French."""

    english: str
    french: str
    before: bool


@dataclass(frozen=True, slots=True)
class Verb:
    """Hold a verb and what goes with it in each language.

    French `se` makes it reflexive, a last `à` or `de` governs the object; what stands between is `filling`.
    """

    english: english.EnglishVerb
    particle: str
    french: french.FrenchVerb
    filling: str
    preposition: str
    reflexive: bool


@dataclass(frozen=True, slots=True)
class VerbIdiom:
    """Hold a verb and its complement that mean something else than their words do."""

    verb: Verb
    english: str
    french: str


@dataclass(frozen=True, slots=True)
class Name:
    """Hold a name in both languages."""

    english: str
    french: str
    gender: str


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Hold all words of the sample, the frequent ones first."""

    nouns: dict[str, Ranked[Noun]]
    adjectives: dict[str, Ranked[Adjective]]  # by the class of the noun
    verbs: dict[str, Ranked[Verb]]  # by subject, object, recipient, as in person>thing>person
    names: dict[str, Ranked[Name]]
    expressions: dict[str, Ranked[Template]]
    states: Ranked[Name]
    verb_idioms: Ranked[VerbIdiom]


@cache
def lexicon() -> Lexicon:
    """Read the tables, once."""
    expressions: dict[str, list[Template]] = defaultdict(list)
    states: list[Name] = []
    idioms: list[VerbIdiom] = []
    for kind, en, fr in _rows("expressions.tsv"):
        if kind == "state":
            states.append(Name(en, fr, "-"))
        elif kind == "verb-idiom":
            (en_verb, _, en_rest), (fr_verb, _, fr_rest) = en.partition(" "), fr.partition(" ")
            idioms.append(VerbIdiom(_verb(en_verb, fr_verb), en_rest, fr_rest))
        else:
            expressions[kind].append(Template.parse(en, fr))
    names: dict[str, list[Name]] = defaultdict(list)
    for kind, en, fr, gender in _rows("names.tsv"):
        names[kind].append(Name(en, fr, gender))
    return Lexicon(
        _nouns(),
        _adjectives(),
        _verbs(),
        {kind: Ranked(items) for kind, items in names.items()},
        {kind: Ranked(items) for kind, items in expressions.items()},
        Ranked(states),
        Ranked(idioms),
    )


def _rows(name: str) -> Iterator[list[str]]:
    text = files("bitweft.sample").joinpath(name).read_text(encoding="utf-8")
    for line in text.splitlines()[1:]:
        yield line.split("\t")


def _nouns() -> dict[str, Ranked[Noun]]:
    nouns: dict[str, list[Noun]] = defaultdict(list)
    for kind, en, fr, gender, count in [*_rows("nouns.tsv"), *_rows("compounds.tsv")]:
        simple = "|" not in en
        singular = (
            Template.parse(en + "|1", fr.replace(" ", "|1 ") + "|1") if simple else Template.parse(en, fr)
        )
        (en_form, en_ids), (fr_form, fr_ids) = singular.en[-1], singular.fr[0]
        plural = Template(
            (*singular.en[:-1], (english.plural(en_form), en_ids)),
            ((french.plural(fr_form), fr_ids), *singular.fr[1:]),
        )
        nouns[kind].append(Noun(singular, plural, gender == "f", count == "mass"))
    return {kind: Ranked(items) for kind, items in nouns.items()}


def _adjectives() -> dict[str, Ranked[Adjective]]:
    rows = [(of, Adjective(en, fr, place == "before")) for place, of, en, fr in _rows("adjectives.tsv")]
    suited = {
        "person": ("any", "person", "nation"),
        "animal": ("any", "person"),
        "thing": ("any", "thing", "nation"),
        "place": ("any", "thing", "nation"),
        "food": ("any", "food", "nation"),
        "drink": ("any", "food"),
        "idea": ("any", "idea"),
    }
    return {
        kind: Ranked([adjective for of, adjective in rows if of in groups]) for kind, groups in suited.items()
    }


def _verbs() -> dict[str, Ranked[Verb]]:
    verbs: dict[str, list[Verb]] = defaultdict(list)
    for subjects, objects, recipient, en, fr in _rows("verbs.tsv"):
        verb = _verb(en, fr)
        for kind in objects.split(","):
            verbs[">".join(part for part in (subjects, kind, recipient) if part != "-")].append(verb)
    return {frame: Ranked(items) for frame, items in verbs.items()}


def _verb(en: str, fr: str) -> Verb:
    base, _, particle = en.partition(" ")
    words = fr.split()
    reflexive = words[0] == "se"
    words = words[reflexive:]
    preposition = words.pop() if words[-1] in ("à", "de") else ""
    return Verb(
        english.conjugate(base),
        particle,
        french.conjugate(words[0], reflexive=reflexive),
        " ".join(words[1:]),
        preposition,
        reflexive,
    )
