"""Sentences: clauses joined, asked, reported, commanded; and the links that their words carry."""

from __future__ import annotations

from collections.abc import Iterator

from bitweft.links.alignment import GoldAlignment, Link
from bitweft.sample import english, french
from bitweft.sample.clauses import AVOIR, ETRE, STATIVE, adverbials, be, clause, copula, third_person
from bitweft.sample.french import Word, agree
from bitweft.sample.nominal import date, name, noun_phrase, number, subject, where
from bitweft.sample.phrases import EMPTY, Draw, Nominal, Phrase
from bitweft.sample.words import lexicon

SHORTEST, LONGEST = 3, 40
JOINED = (("and", "et"), ("and", "et"), ("but", "mais"), ("or", "ou"), ("so", "donc"))
SUBORDINATED = (
    ("because", "parce que", "past"),
    ("because", "parce que", "present"),
    ("since", "puisque", "present"),
    ("while", "pendant que", "past"),
    ("when", "quand", "past"),
    ("when", "lorsque", "present"),
    ("as soon as", "dès que", "past"),
)
REPORTING = (
    ("say", "dire"), ("think", "penser"), ("know", "savoir"), ("believe", "croire"), ("hope", "espérer"),
    ("explain", "expliquer"), ("announce", "annoncer"),
)  # fmt: skip
REPORTS = tuple((english.conjugate(en), french.conjugate(fr)) for en, fr in REPORTING)
QUESTION_WORDS = (("where", "où"), ("when", "quand"), ("why", "pourquoi"), ("how", "comment"))
UNITS = (("years", "ans"), ("weeks", "semaines"), ("days", "jours"), ("months", "mois"), ("hours", "heures"))
SPANS = (("for", "pendant"), ("in", "dans"), ("after", "après"))


def sentences(seed: int) -> Iterator[tuple[list[str], list[str], GoldAlignment]]:
    """Draw sentence pairs without end: English words, French words, their links."""
    draw = Draw(seed)
    while True:
        draw.last = 0
        phrase = sentence(draw)
        en, fr = english.smooth(phrase.en), french.smooth(phrase.fr)
        if SHORTEST <= len(en) <= LONGEST and SHORTEST <= len(fr) <= LONGEST:
            yield _capitalized(en), _capitalized(fr), links(en, fr)


def links(en: list[Word], fr: list[Word]) -> GoldAlignment:
    """Link the words that share a number."""
    places: dict[int, list[tuple[int, bool]]] = {}
    for t, (_, ids) in enumerate(fr):
        for shared in ids:
            places.setdefault(abs(shared), []).append((t, shared > 0))
    sure: set[Link] = set()
    possible: set[Link] = set()
    for s, (_, ids) in enumerate(en):
        for shared in ids:
            for t, certain in places.get(abs(shared), ()):
                possible.add((s, t))
                if certain and shared > 0:
                    sure.add((s, t))
    return GoldAlignment(frozenset(sure), frozenset(possible))


def _capitalized(words: list[Word]) -> list[str]:
    forms = [form for form, _ in words]
    forms[0] = forms[0][0].upper() + forms[0][1:]
    return forms


def sentence(draw: Draw) -> Phrase:
    """Draw one sentence with its full stop."""
    point = draw.random()
    if point < 0.03:
        return draw.use(draw.ranked(lexicon().expressions["idiom"]))
    if point < 0.10:
        return _question(draw)
    if point < 0.13:
        return _command(draw)
    opener = draw.use(draw.ranked(lexicon().expressions["opener"])) if draw.chance(0.09) else EMPTY
    return opener.then(_statement(draw), draw.pair(".", "."))


def _statement(draw: Draw) -> Phrase:
    point = draw.random()
    time = draw.choose(("past", "past", "past", "present", "present", "present", "future"))
    if point < 0.42:
        return clause(draw, time)
    if point < 0.54:
        return copula(draw, time)
    if point < 0.60:
        return _existence(draw)
    if point < 0.65:
        return _passive(draw)
    if point < 0.69:
        return _duration(draw, time)
    if point < 0.80:
        comma = draw.pair(",", ",") if draw.chance(0.5) else EMPTY
        return clause(draw, time).then(comma, draw.pair(*draw.choose(JOINED)), clause(draw, time, rich=False))
    if point < 0.90:
        return _subordinated(draw)
    return _reported(draw, time)


def _subordinated(draw: Draw) -> Phrase:
    if draw.chance(0.3):
        condition = draw.pair("if", "si").then(clause(draw, "present", rich=False), draw.pair(",", ","))
        return condition.then(clause(draw, draw.choose(("future", "present"))))
    en, fr, time = draw.choose(SUBORDINATED)
    main, joint, other = clause(draw, time), draw.pair(en, fr), clause(draw, time, rich=draw.chance(0.5))
    if draw.chance(0.35):
        return joint.then(other, draw.pair(",", ","), main)
    return main.then(joint, other)


def _reported(draw: Draw, time: str) -> Phrase:
    """Say that someone said something; English may leave out that, French keeps que."""
    speaker = subject(draw, "person")
    en, fr = draw.choose(REPORTS)
    if draw.chance(0.5):
        said = draw.pair(en.third if third_person(speaker) else en.base, fr.present[speaker.six])
    else:
        meaning, doubt = draw.link(), -draw.link()
        has: Word = (AVOIR.present[speaker.six], (doubt,))
        said = Phrase([(en.past, (meaning, doubt))], [has, (fr.participle, (meaning,))])
    that = draw.pair("that", "que") if draw.chance(0.6) else Phrase([], [("que", ())])
    return speaker.then(said, that, clause(draw, time))


def _question(draw: Draw) -> Phrase:
    """Ask with do or another auxiliary in English, with est-ce que or the voice alone in French."""
    asked = clause(draw, draw.choose(("past", "present", "future")), question=True, rich=draw.chance(0.4))
    word = draw.pair(*draw.choose(QUESTION_WORDS)) if draw.chance(0.5) else EMPTY
    doubt = (-draw.link(),)
    marker: list[Word] = [("est-ce", doubt), ("que", doubt)] if word.en or draw.chance(0.6) else []
    if asked.en:
        form, ids = asked.en[0]
        asked.en[0] = (form, ids + doubt)
    return Phrase([*word.en, *asked.en], [*word.fr, *marker, *asked.fr]).then(draw.pair("?", "?"))


def _command(draw: Draw) -> Phrase:
    kind = draw.choose(("thing", "food", "person", "idea"))
    verb = draw.ranked(lexicon().verbs[f"person>{kind}"])
    while verb.preposition or verb.reflexive or verb.filling or verb.english.base in STATIVE:
        verb = draw.ranked(lexicon().verbs[f"person>{kind}"])
    what = name(draw) if kind == "person" else noun_phrase(draw, kind)
    ids, doubt = (draw.link(),), (-draw.link(),)
    order: list[Word] = [(verb.english.base, ids), *((word, ids) for word in verb.particle.split())]
    please = EMPTY
    if draw.chance(0.3):
        please = draw.pair(",", ",").then(draw.pair("please", "s' il vous plaît"))
    end = draw.pair("!", "!") if draw.chance(0.5) else draw.pair(".", ".")
    finite: Word = (verb.french.present[4], ids)
    if draw.chance(0.3):
        negation = (draw.link(),)
        english_words: list[Word] = [("do", doubt), ("not", negation), *order]
        said = Phrase(english_words, [("ne", negation), (finite[0], ids + doubt), ("pas", negation)])
    else:
        said = Phrase(order, [finite])
    return said.then(what, please, end)


def _existence(draw: Draw) -> Phrase:
    """Say there is, il y a."""
    what = _indefinite_noun(draw)
    there, is_ = (-draw.link(),), (draw.link(),)
    past = draw.chance(0.4)
    verb = be(Nominal([], [], plural=what.plural), past=past)
    has = (AVOIR.imperfect if past else AVOIR.present)[2]
    start = Phrase([("there", there), (verb, is_)], [("il", there), ("y", there), (has, is_ + there)])
    return start.then(what, where(draw))


def _indefinite_noun(draw: Draw) -> Nominal:
    noun = draw.ranked(lexicon().nouns[draw.choose(("person", "animal", "thing", "food"))])
    if noun.mass or draw.chance(0.4):
        words = draw.use(noun.singular)
        if noun.mass:
            ids = (draw.link(),)
            article = ("la" if noun.feminine else "le", ids)
            phrase = Phrase([("some", ids)], [("de", ids), article]).then(words)
        else:
            phrase = draw.pair("a", "une" if noun.feminine else "un").then(words)
        return Nominal(phrase.en, phrase.fr, feminine=noun.feminine)
    phrase = number(draw).then(draw.use(noun.plural))
    return Nominal(phrase.en, phrase.fr, plural=True, feminine=noun.feminine)


def _passive(draw: Draw) -> Phrase:
    """Say what was done to something, and by whom."""
    kind = draw.choose(("thing", "thing", "idea", "person"))
    verb = draw.ranked(lexicon().verbs[f"person>{kind}"])
    while verb.preposition or verb.filling or verb.particle:
        verb = draw.ranked(lexicon().verbs[f"person>{kind}"])
    what = noun_phrase(draw, kind)
    was, done, doubt = (draw.link(),), (draw.link(),), (-draw.link(),)
    participle = agree(verb.french.participle, is_feminine=what.feminine, is_plural=what.plural)
    helper, been = AVOIR.present[what.six], ETRE.participle
    said = Phrase(
        [(be(what, past=True), was + doubt), (verb.english.participle, done)],
        [(helper, doubt), (been, was), (participle, done)],
    )
    by = name(draw) if draw.chance(0.4) else noun_phrase(draw, "person", depth=0)
    agent = draw.pair("by", "par").then(by) if draw.chance(0.7) else EMPTY
    return what.then(said, agent, date(draw) if draw.chance(0.3) else adverbials(draw, "past"))


def _duration(draw: Draw, time: str) -> Phrase:
    """Say how long, how long ago, how old, how much."""
    many, (unit_en, unit_fr) = number(draw, 60), draw.choose(UNITS)
    span = many.then(draw.pair(unit_en, unit_fr))
    point = draw.random()
    if point < 0.3:
        ago = (draw.link(),)
        adverb = Phrase([*span.en, ("ago", ago)], [*((word, ago) for word in ("il", "y", "a")), *span.fr])
        return clause(draw, "past", rich=False).then(adverb)
    if point < 0.6:
        return clause(draw, time, rich=False).then(draw.pair(*draw.choose(SPANS)), span)
    who = subject(draw, "person")
    is_, doubt = (draw.link(),), (-draw.link(),)
    if point < 0.8:
        age = Phrase([(be(who, past=False), is_)], [(AVOIR.present[who.six], is_)]).then(number(draw, 99))
        years = (draw.link(),)
        return who.then(age, Phrase([("years", years), ("old", doubt)], [("ans", years + doubt)]))
    paid = Phrase([("paid", is_ + doubt)], [(AVOIR.present[who.six], doubt), ("payé", is_)])
    price = f"{draw.between(2, 99)}.{draw.between(10, 99)}"
    return who.then(paid, draw.pair(price, price.replace(".", ",")), draw.pair("dollars", "dollars"))
