"""Noun phrases: articles, agreement, the place of adjectives, possessors, names, pronouns, numbers, dates."""

from __future__ import annotations

from bitweft.sample.french import Word, agree, listed
from bitweft.sample.phrases import Draw, Nominal, Phrase
from bitweft.sample.words import Adjective, Noun, lexicon

# English, French masculine, feminine, plural
POSSESSIVES = (
    ("my", "mon", "ma", "mes"),
    ("your", "ton", "ta", "tes"),
    ("your", "votre", "votre", "vos"),
    ("his", "son", "sa", "ses"),
    ("her", "son", "sa", "ses"),
    ("our", "notre", "notre", "nos"),
    ("their", "leur", "leur", "leurs"),
)
# English subject, French subject, person, plural, feminine, English object, French direct and indirect object
PRONOUNS = (
    ("I", "je", 1, False, False, "me", "me", "me"),
    ("he", "il", 3, False, False, "him", "le", "lui"),
    ("she", "elle", 3, False, True, "her", "la", "lui"),
    ("we", "nous", 1, True, False, "us", "nous", "nous"),
    ("they", "ils", 3, True, False, "them", "les", "leur"),
    ("you", "vous", 2, True, False, "you", "vous", "vous"),
    ("you", "tu", 2, False, False, "you", "te", "te"),
    ("we", "on", 3, False, False, "us", "nous", "nous"),
    ("they", "elles", 3, True, True, "them", "les", "leur"),
)
PLACES = (
    ("in", "dans"),
    ("in", "dans"),
    ("near", "près de"),
    ("behind", "derrière"),
    ("in front of", "devant"),
    ("far from", "loin de"),
    ("next to", "à côté de"),
    ("outside", "à l' extérieur de"),
    ("around", "autour de"),
)
MONTHS = listed(
    "January/janvier February/février March/mars April/avril May/mai June/juin July/juillet August/août "
    "September/septembre October/octobre November/novembre December/décembre"
)
UNITS_EN = listed(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen"
)
UNITS_FR = listed(
    "zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize "
    "dix-sept dix-huit dix-neuf"
)
TENS_EN = listed("- - twenty thirty forty fifty sixty seventy eighty ninety")
TENS_FR = listed("- - vingt trente quarante cinquante soixante soixante quatre-vingt quatre-vingt")


def number_words(number: int) -> tuple[str, str]:
    """Spell a number below a hundred in English and French (where 21 is three words)."""
    ten, unit = divmod(number, 10)
    english = UNITS_EN[number] if number < 20 else TENS_EN[ten] + (f"-{UNITS_EN[unit]}" if unit else "")
    if number < 20:
        return english, UNITS_FR[number]
    rest = unit + 10 if ten in (7, 9) else unit
    if rest == 0:
        return english, TENS_FR[ten] + ("s" if ten == 8 else "")
    if rest in (1, 11) and ten < 8:
        return english, f"{TENS_FR[ten]} et {UNITS_FR[rest]}"
    return english, f"{TENS_FR[ten]}-{UNITS_FR[rest]}"


def number(draw: Draw, most: int = 9999) -> Phrase:
    """Draw a number of two or more, small ones most often, in words or in digits."""
    if draw.chance(0.7):
        high = min(most, draw.choose((4, 10, 20, 99)))
        return draw.pair(*number_words(draw.between(2, high)))
    figure = draw.between(2, min(most, draw.choose((99, 999, 9999))))
    return draw.pair(str(figure), str(figure))


def pronoun(draw: Draw) -> Nominal:
    """Draw a subject pronoun."""
    en, fr, person, plural, feminine, *_ = PRONOUNS[min(int(draw.random() * draw.random() * 12), 8)]
    phrase = draw.pair(en, fr)
    return Nominal(phrase.en, phrase.fr, person, plural, feminine, pronoun=True)


def name(draw: Draw) -> Nominal:
    """Draw a person's name."""
    feminine = draw.chance(0.5)
    names = lexicon().names
    first = draw.ranked(names["woman" if feminine else "man"])
    phrase = draw.pair(first.english, first.french)
    if draw.chance(0.25):
        last = draw.ranked(names["surname"])
        if draw.chance(0.4):
            title = draw.pair("Mrs.", "Mme") if feminine else draw.pair("Mr.", "M.")
            phrase = title.then(draw.pair(last.english, last.french))
        else:
            phrase = phrase.then(draw.pair(last.english, last.french))
    return Nominal(phrase.en, phrase.fr, feminine=feminine, proper=True)


def noun_phrase(draw: Draw, kind: str, *, depth: int = 1, definite: bool = False) -> Nominal:
    """Draw a noun of a class with its article or other determiner, adjectives and possessor."""
    noun = draw.ranked(lexicon().nouns[kind])
    many = not noun.mass and draw.chance(0.3)
    core = _with_adjectives(draw, noun, kind, many)
    phrase = _determined(draw, core, noun, many, definite=definite)
    if depth and kind in ("place", "thing", "idea") and draw.chance(0.12):
        owner = noun_phrase(draw, draw.choose(("person", "place")), depth=0, definite=True)
        phrase = phrase.then(draw.pair("of", "de"), owner)
    return Nominal(phrase.en, phrase.fr, plural=many, feminine=noun.feminine)


def subject(draw: Draw, kind: str) -> Nominal:
    """Draw a subject of a class: a noun phrase, or for persons a name, a pronoun, or two joined."""
    if kind != "person":
        return noun_phrase(draw, kind)
    point = draw.random()
    if point < 0.4:
        return pronoun(draw)
    if point < 0.58:
        return name(draw)
    if point < 0.65:
        first, second = name(draw), noun_phrase(draw, "person", depth=0)
        both = first.then(draw.pair("and", "et"), second)
        return Nominal(both.en, both.fr, plural=True, feminine=first.feminine and second.feminine)
    return noun_phrase(draw, "person")


def _with_adjectives(draw: Draw, noun: Noun, kind: str, many: bool) -> Phrase:
    phrase = draw.use(noun.plural if many else noun.singular)
    before: list[Word] = []
    english: list[Word] = []
    for place in (True, False):
        if draw.chance(0.22):
            adjective = draw.ranked(lexicon().adjectives[kind])
            if adjective.before is not place:
                continue
            words = adjective_words(draw, adjective, noun.feminine, many, attributive=place)
            english += words.en
            if place:
                before = words.fr
            else:
                phrase.fr += words.fr
    return Phrase(english + phrase.en, before + phrase.fr)


def adjective_words(
    draw: Draw, adjective: Adjective, feminine: bool, many: bool, *, attributive: bool = False
) -> Phrase:
    """Give an adjective that agrees; in front of its noun a few have another form before a vowel."""
    french = agree(adjective.french, is_feminine=feminine, is_plural=many)
    if attributive and french in ("beau", "nouveau", "vieux") and not many:
        french += "¹"
    return draw.pair(adjective.english, french)


def _determined(draw: Draw, core: Phrase, noun: Noun, many: bool, *, definite: bool) -> Phrase:
    point = 0.0 if definite else draw.random()
    if point < 0.42:
        return draw.pair("the", "les" if many else "la" if noun.feminine else "le").then(core)
    if point < 0.64:
        return _indefinite(draw, core, noun, many)
    if point < 0.76:
        english, masculine, feminine, plural = draw.choose(POSSESSIVES)
        return draw.pair(english, plural if many else feminine if noun.feminine else masculine).then(core)
    if point < 0.82:
        french = "ces" if many else "cette" if noun.feminine else "ce"
        return draw.pair(draw.choose(("these", "those") if many else ("this", "that")), french).then(core)
    if point < 0.90:
        owner = name(draw) if draw.chance(0.6) else noun_phrase(draw, "person", depth=0, definite=True)
        return _owned(draw, core, owner, "les" if many else "la" if noun.feminine else "le")
    if many:
        return _counted(draw, core)
    if noun.mass:
        return _indefinite(draw, core, noun, many)
    return draw.pair(draw.choose(("every", "each")), "chaque").then(core)


def _indefinite(draw: Draw, core: Phrase, noun: Noun, many: bool) -> Phrase:
    """Say a, some, or nothing; un, des, or (of things in general) a French article without a counterpart."""
    if not many and not noun.mass:
        return draw.pair("a", "une" if noun.feminine else "un").then(core)
    some = "some" if draw.chance(0.5) else ""
    if many:
        french = "des" if some or draw.chance(0.5) else "les"
        return draw.pair(some, french).then(core)
    if not some:
        return Phrase(core.en, [("la" if noun.feminine else "le", ()), *core.fr])
    ids = (draw.link(),)
    article = "la" if noun.feminine else "le"
    return Phrase([("some", ids), *core.en], [("de", ids), (article, ids), *core.fr])


def _owned(draw: Draw, core: Phrase, owner: Nominal, article: str) -> Phrase:
    """Turn the order round: Anne 's old house, la vieille maison de Anne."""
    link, doubt = draw.link(), -draw.link()
    mark = "'" if owner.plural and owner.en[-1][0].endswith("s") else "'s"
    english = [*owner.en, (mark, (link, doubt)), *core.en]
    return Phrase(english, [(article, (doubt,)), *core.fr, ("de", (link,)), *owner.fr])


def _counted(draw: Draw, core: Phrase) -> Phrase:
    point = draw.random()
    if point < 0.5:
        return number(draw).then(core)
    if point < 0.65:
        return draw.pair("several", "plusieurs").then(core)
    if point < 0.8:
        return draw.pair(draw.choose(("some", "a few")), "quelques").then(core)
    link, doubt = draw.link(), -draw.link()
    many = draw.choose((("many", "beaucoup"), ("few", "peu"), ("enough", "assez")))
    return Phrase([(many[0], (link, doubt)), *core.en], [(many[1], (link,)), ("de", (doubt,)), *core.fr])


def date(draw: Draw) -> Phrase:
    """Draw a day, a year, an hour."""
    point = draw.random()
    if point < 0.3:
        year = str(draw.between(1789, 2024))
        return draw.pair("in", "en").then(draw.pair(year, year))
    if point < 0.65:
        hour = draw.between(2, 12)
        spelt = draw.pair(*number_words(hour))
        return draw.pair("at", "à").then(spelt, draw.pair("o'clock", "heures"))
    english, french = draw.choose(MONTHS).split("/")
    day, month = str(draw.between(2, 28)), draw.pair(english, french)
    on, figure = draw.pair("on", "le"), draw.pair(day, day)
    phrase = Phrase(on.en + month.en + figure.en, on.fr + figure.fr + month.fr)
    if draw.chance(0.5):
        year = str(draw.between(1900, 2024))
        phrase = phrase.then(Phrase([(",", ())], []), draw.pair(year, year))
    return phrase


def where(draw: Draw) -> Phrase:
    """Draw a place: a town, a country, or somewhere near a thing one can name."""
    point = draw.random()
    names = lexicon().names
    if point < 0.2:
        town = draw.ranked(names["city"])
        return draw.pair("in", "à").then(draw.pair(town.english, town.french))
    if point < 0.32:
        country = draw.ranked(names["country"])
        ids = (draw.link(),)
        land = draw.pair(country.english, country.french)
        consonant = country.gender == "m"
        return Phrase([("in", ids), *land.en], [("au" if consonant else "en", ids), *land.fr])
    place = noun_phrase(draw, "place", depth=0)
    english, french = draw.choose(PLACES)
    return draw.pair(english, french).then(place)
