"""Clauses: a subject, a verb in some tense, negation, adverbs, objects before or after it, complements."""

from __future__ import annotations

from dataclasses import dataclass, field

from bitweft.sample import english, french
from bitweft.sample.french import Word, agree, listed
from bitweft.sample.nominal import PRONOUNS, adjective_words, date, name, noun_phrase, where
from bitweft.sample.nominal import subject as draw_subject
from bitweft.sample.phrases import EMPTY, Draw, Nominal, Phrase
from bitweft.sample.words import Verb, lexicon

REFLEXIVE = ("me", "te", "se", "nous", "vous", "se")
TENSES = {
    "past": ("simple past", "simple past", "simple past", "perfect", "imperfect", "imperfect", "used to"),
    "present": ("present", "present", "present", "progressive", "progressive", "can", "must", "want"),
    "future": ("future", "future", "going to"),
    "conditional": ("conditional",),
}
NEGATIONS = (("not", "pas"), ("not", "pas"), ("not", "pas"), ("never", "jamais"), ("no longer", "plus"))
STATIVE = frozenset(
    listed("know love like hate need believe prefer understand remember doubt see hear forget be")
)
AVOIR, ETRE, ALLER = french.conjugate("avoir"), french.conjugate("être"), french.conjugate("aller")
MODALS = {
    "can": french.conjugate("pouvoir"),
    "must": french.conjugate("devoir"),
    "want": french.conjugate("vouloir"),
}
FRAMES = {
    "person": ("", "", "thing", "thing", "thing", "person", "person", "animal", "idea", "idea", "food",
               "drink", "place", "thing>person", "idea>person"),
    "animal": ("", "", "person", "animal", "thing"),
    "idea": ("person", "idea"),
}  # fmt: skip


@dataclass(slots=True)
class VerbForms:
    """Hold the words of a verb in one tense: what can move around a subject or a negation, and the rest."""

    auxiliary: list[Word]
    main: list[Word]
    finite: Word
    rest: list[Word] = field(default_factory=list)
    infinitive: bool = False  # French: objects stand before the rest, not before the finite verb


def third_person(subject: Nominal) -> bool:
    """Tell whether an English verb takes its s."""
    return subject.en[0][0] in ("he", "she") if subject.pronoun else not subject.plural


def be(subject: Nominal, *, past: bool) -> str:
    """Give the form of be."""
    if subject.pronoun and subject.en[0][0] == "I":
        return "was" if past else "am"
    if third_person(subject):
        return "was" if past else "is"
    return "were" if past else "are"


def verb_forms(draw: Draw, verb: Verb, subject: Nominal, tense: str, *, support: bool) -> VerbForms:
    """Put a verb in a tense; `support` asks for do where English has no other auxiliary."""
    meaning, doubt = draw.link(), -draw.link()
    en, fr, six, third = verb.english, verb.french, subject.six, third_person(subject)
    own, vague, both = (meaning,), (doubt,), (meaning, doubt)
    if tense == "present":
        if support:
            return VerbForms([("does" if third else "do", vague)], [(en.base, own)], (fr.present[six], both))
        return VerbForms([], [(en.third if third else en.base, own)], (fr.present[six], own))
    if tense == "progressive":
        return VerbForms([(be(subject, past=False), vague)], [(en.gerund, own)], (fr.present[six], both))
    if tense == "imperfect":
        return VerbForms([(be(subject, past=True), vague)], [(en.gerund, own)], (fr.imperfect[six], both))
    if tense in ("future", "conditional"):
        form, auxiliary = (fr.future, "will") if tense == "future" else (fr.conditional, "would")
        return VerbForms([(auxiliary, vague)], [(en.base, own)], (form[six], both))
    if tense == "used to":
        if support:
            return VerbForms(
                [("did", vague)], [("use", vague), ("to", vague), (en.base, own)], (fr.imperfect[six], both)
            )
        return VerbForms([], [("used", vague), ("to", vague), (en.base, own)], (fr.imperfect[six], both))
    if tense in ("simple past", "perfect"):
        return _compound_past(verb, subject, tense, meaning, doubt, support=support)
    return _with_infinitive(draw, verb, subject, tense, meaning, doubt, support=support)


def _compound_past(
    verb: Verb, subject: Nominal, tense: str, meaning: int, doubt: int, *, support: bool
) -> VerbForms:
    helper = (ETRE if verb.french.with_etre else AVOIR).present[subject.six]
    participle = verb.french.participle
    if verb.french.with_etre:
        participle = agree(participle, is_feminine=subject.feminine, is_plural=subject.plural)
    rest: list[Word] = [(participle, (meaning,))]
    if tense == "perfect":
        has = "has" if third_person(subject) else "have"
        return VerbForms(
            [(has, (-doubt,))], [(verb.english.participle, (meaning,))], (helper, (-doubt,)), rest
        )
    if support:
        return VerbForms([("did", (doubt,))], [(verb.english.base, (meaning,))], (helper, (doubt,)), rest)
    return VerbForms([], [(verb.english.past, (meaning, doubt))], (helper, (doubt,)), rest)


def _with_infinitive(
    draw: Draw, verb: Verb, subject: Nominal, tense: str, meaning: int, doubt: int, *, support: bool
) -> VerbForms:
    helper = draw.link()
    rest: list[Word] = [(verb.french.infinitive, (meaning,))]
    base: list[Word] = [(verb.english.base, (meaning,))]
    if tense == "going to":
        is_going: list[Word] = [(be(subject, past=False), (doubt,))]
        finite = (ALLER.present[subject.six], (helper, doubt))
        return VerbForms(
            is_going, [("going", (helper,)), ("to", (doubt,)), *base], finite, rest, infinitive=True
        )
    modal = MODALS[tense].present[subject.six]
    if tense != "want":
        return VerbForms([(tense, (helper,))], base, (modal, (helper,)), rest, infinitive=True)
    third = third_person(subject)
    to_base: list[Word] = [("to", (doubt,)), *base]
    rest = [(verb.french.infinitive, (meaning, doubt))]
    if not support:
        return VerbForms(
            [], [("wants" if third else "want", (helper,)), *to_base], (modal, (helper,)), rest, True
        )
    do = -draw.link()
    finite = (modal, (helper, do))
    return VerbForms(
        [("does" if third else "do", (do,))], [("want", (helper,)), *to_base], finite, rest, infinitive=True
    )


def pick_tense(draw: Draw, time: str, verb: Verb) -> str:
    """Draw a tense for a time; verbs of state have no progressive."""
    tense = draw.choose(TENSES[time])
    if verb.english.base in STATIVE and tense in ("progressive", "imperfect"):
        return "present" if time == "present" else "simple past"
    return tense


def object_pronoun(draw: Draw, subject: Nominal, *, indirect: bool, thing: bool) -> Nominal:
    """Draw a pronoun that stands before the French verb and after the English one."""
    if thing and not indirect:
        feminine = draw.chance(0.5)
        phrase = draw.pair("it", "la" if feminine else "le")
        return Nominal(phrase.en, phrase.fr, feminine=feminine, pronoun=True)
    while True:
        _, _, person, plural, feminine, en, direct, other = draw.choose(PRONOUNS)
        if person != subject.person or person == 3:
            phrase = draw.pair(en, other if indirect else direct)
            return Nominal(phrase.en, phrase.fr, person, plural, feminine, pronoun=True)


@dataclass(slots=True)
class Complements:
    """Hold what goes with a verb: clitic pronouns, what follows, an object the participle agrees with."""

    clitics: list[Nominal] = field(default_factory=list)
    after: Phrase = field(default_factory=lambda: EMPTY)
    preceding: Nominal | None = None
    adverb: Phrase = field(default_factory=lambda: EMPTY)
    negation: tuple[str, str] | None = None


def verb_phrase(
    draw: Draw, verb: Verb, subject: Nominal, tense: str, parts: Complements, *, question: bool = False
) -> tuple[list[Word], Phrase]:
    """Order a verb and its complements; what precedes the subject of an English question comes apart."""
    support = question or (parts.negation is not None and parts.negation[0] == "not")
    forms = verb_forms(draw, verb, subject, tense, support=support)
    meaning = forms.main[-1][1][:1]
    if parts.preceding and forms.rest and not forms.infinitive and not verb.french.with_etre:
        form, ids = forms.rest[-1]
        before = parts.preceding
        forms.rest[-1] = (agree(form, is_feminine=before.feminine, is_plural=before.plural), ids)
    ne: list[Word] = []
    pas: list[Word] = []
    negative: list[Word] = []
    if parts.negation:
        ids = (draw.link(),)
        negative = [(word, ids) for word in parts.negation[0].split()]
        ne, pas = [("ne", ids)], [(parts.negation[1], ids)]
    clitics = [word for clitic in parts.clitics for word in clitic.fr]
    if verb.reflexive:
        doubt = -draw.link()
        form, ids = forms.main[-1]
        forms.main[-1] = (form, (*ids, doubt))
        clitics.insert(0, (REFLEXIVE[subject.six], (doubt,)))
    filling: list[Word] = [(word, meaning) for word in verb.filling.split()]
    ahead, inside = ([], clitics) if forms.infinitive else (clitics, [])
    fr = [*ne, *ahead, forms.finite, *pas, *parts.adverb.fr, *inside, *forms.rest, *filling, *parts.after.fr]
    particle: list[Word] = [(word, meaning) for word in verb.particle.split()]
    objects = [word for clitic in parts.clitics for word in clitic.en]
    tail = [*forms.main, *particle, *objects]
    en = [*negative, *parts.adverb.en, *tail, *parts.after.en]
    return forms.auxiliary, Phrase(en, fr)


def clause(
    draw: Draw, time: str, *, subject: Nominal | None = None, question: bool = False, rich: bool = True
) -> Phrase:
    """Draw a whole clause at a time; `rich` ones may hold relative clauses and adverbials."""
    kind = "person" if subject else draw.choose(("person",) * 9 + ("animal", "idea"))
    doer = subject or draw_subject(draw, kind)
    if rich and not subject and not doer.pronoun and not doer.proper and draw.chance(0.12):
        doer = _with_relative(draw, doer, kind, time)
    auxiliary, phrase = predicate(draw, doer, kind, time, question=question, rich=rich)
    if question:
        return Phrase([*auxiliary, *doer.en, *phrase.en], [*doer.fr, *phrase.fr])
    return Phrase([*doer.en, *auxiliary, *phrase.en], [*doer.fr, *phrase.fr])


def predicate(
    draw: Draw, subject: Nominal, kind: str, time: str, *, question: bool = False, rich: bool = True
) -> tuple[list[Word], Phrase]:
    """Draw what is said of a subject."""
    parts = Complements()
    if not question and draw.chance(0.16):
        parts.negation = draw.choose(NEGATIONS)
    elif draw.chance(0.14):
        parts.adverb = draw.use(draw.ranked(lexicon().expressions["adverb"]))
    if kind == "person" and draw.chance(0.05):
        idiom = draw.ranked(lexicon().verb_idioms)
        parts.after = draw.maybe(idiom.english, idiom.french)
        verb = idiom.verb
    else:
        frame = draw.choose(FRAMES[kind])
        verb = draw.ranked(lexicon().verbs[f"{kind}>{frame}" if frame else kind])
        if frame:
            _objects(draw, verb, subject, frame, time, parts)
    if rich:
        parts.after = parts.after.then(adverbials(draw, time))
    return verb_phrase(draw, verb, subject, pick_tense(draw, time, verb), parts, question=question)


def _objects(draw: Draw, verb: Verb, subject: Nominal, frame: str, time: str, parts: Complements) -> None:
    kind, _, recipient = frame.partition(">")
    if recipient and draw.chance(0.4):
        parts.clitics.append(object_pronoun(draw, subject, indirect=True, thing=False))
        parts.after = noun_phrase(draw, kind)
        return
    if not verb.preposition and draw.chance(0.16) and not recipient:
        clitic = object_pronoun(draw, subject, indirect=False, thing=kind != "person")
        parts.clitics.append(clitic)
        parts.preceding = clitic
        return
    patient = (
        name(draw)
        if kind == "person" and draw.chance(0.3)
        else noun_phrase(draw, kind, definite=bool(verb.preposition))
    )
    phrase: Phrase = patient
    if not patient.proper and draw.chance(0.08):
        phrase = phrase.then(_object_relative(draw, patient, kind, time))
    if verb.preposition:
        phrase = Phrase(phrase.en, [(verb.preposition, ()), *phrase.fr])
    if recipient:
        to = name(draw) if draw.chance(0.4) else noun_phrase(draw, "person", depth=0)
        phrase = phrase.then(draw.pair("to", "à"), to)
    parts.after = phrase


def _with_relative(draw: Draw, noun: Nominal, kind: str, time: str) -> Nominal:
    link = draw.pair("who" if kind == "person" else "that", "qui")
    auxiliary, said = predicate(draw, noun, kind, time, rich=False)
    phrase = noun.then(link, Phrase(auxiliary, []), said)
    return Nominal(phrase.en, phrase.fr, plural=noun.plural, feminine=noun.feminine)


def _object_relative(draw: Draw, noun: Nominal, kind: str, time: str) -> Phrase:
    """Say `the book (that) she bought`; que stays even where that is left out."""
    doer = draw_subject(draw, "person") if draw.chance(0.4) else name(draw)
    verb = draw.ranked(lexicon().verbs[f"person>{kind}"])
    while verb.preposition:
        verb = draw.ranked(lexicon().verbs[f"person>{kind}"])
    auxiliary, said = verb_phrase(draw, verb, doer, pick_tense(draw, time, verb), Complements(preceding=noun))
    link = draw.pair("that", "que") if draw.chance(0.5) else Phrase([], [("que", ())])
    return link.then(doer, Phrase(auxiliary, []), said)


def adverbials(draw: Draw, time: str) -> Phrase:
    """Draw how, where and when, each now and then."""
    phrase = EMPTY
    if draw.chance(0.1):
        phrase = phrase.then(draw.use(draw.ranked(lexicon().expressions["manner"])))
    if draw.chance(0.22):
        phrase = phrase.then(where(draw))
    if draw.chance(0.1):
        companion = name(draw) if draw.chance(0.4) else noun_phrase(draw, "person", depth=0)
        phrase = phrase.then(
            draw.pair(*draw.choose((("with", "avec"), ("without", "sans"), ("for", "pour")))), companion
        )
    if time == "past" and draw.chance(0.12):
        phrase = phrase.then(date(draw))
    elif time in lexicon().expressions and draw.chance(0.14):
        phrase = phrase.then(draw.use(draw.ranked(lexicon().expressions[time])))
    return phrase


def copula(draw: Draw, time: str) -> Phrase:
    """Say that something is so: a quality, a comparison, a profession, a place, or what French has (faim)."""
    kind = draw.choose(("person", "person", "thing", "idea", "animal", "place", "food"))
    doer = draw_subject(draw, kind)
    point = draw.random()
    state = draw.ranked(lexicon().states) if kind == "person" and point < 0.2 else None
    verb = AVOIR if state else ETRE
    if state:
        complement = draw.pair(state.english, state.french)
    elif point < 0.4 and kind in ("person", "thing"):
        complement = where(draw)
    elif point < 0.5 and kind == "person" and not doer.plural:
        complement = _profession(draw)
    else:
        complement = _quality(draw, doer, kind)
    is_, doubt = draw.link(), -draw.link()
    negative = draw.pair("not", "ne pas") if draw.chance(0.18) else EMPTY
    verb_fr: Word = (verb.future[doer.six], (is_, doubt))
    if time == "future":
        en = [*doer.en, ("will", (doubt,)), *negative.en, ("be", (is_,)), *complement.en]
    else:
        past = time == "past"
        verb_fr = ((verb.imperfect if past else verb.present)[doer.six], (is_,))
        en = [*doer.en, (be(doer, past=past), (is_,)), *negative.en, *complement.en]
    return Phrase(en, [*doer.fr, *negative.fr[:1], verb_fr, *negative.fr[1:], *complement.fr])


def _profession(draw: Draw) -> Phrase:
    """Say `a doctor`, where French has no article."""
    noun = draw.use(draw.ranked(lexicon().nouns["person"]).singular)
    return Phrase([("a", ()), *noun.en], noun.fr)


def _quality(draw: Draw, doer: Nominal, kind: str) -> Phrase:
    adjective = draw.ranked(lexicon().adjectives[kind])
    words = adjective_words(draw, adjective, doer.feminine, doer.plural)
    point = draw.random()
    if point < 0.2:
        return draw.pair("very", "très").then(words)
    if point < 0.3:
        return draw.pair("too", "trop").then(words)
    if point < 0.42 and not doer.pronoun and adjective.english not in ("good", "bad"):
        other = noun_phrase(draw, kind, depth=0)
        short = adjective.english in english.COMPARATIVE
        link = draw.link()
        form, ids = words.en[0]
        more: list[Word] = [] if short else [("more", (link,))]
        compared = (english.COMPARATIVE[form], (*ids, link)) if short else (form, ids)
        return Phrase([*more, compared], [("plus", (link,)), *words.fr]).then(draw.pair("than", "que"), other)
    return words
