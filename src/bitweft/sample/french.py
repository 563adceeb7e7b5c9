"""French forms: plural, feminine, conjugation, and what happens where two words meet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

Word: TypeAlias = tuple[str, tuple[int, ...]]  # a form, and the numbers of what it expresses

SIX: TypeAlias = tuple[str, ...]  # je, tu, il, nous, vous, ils


def listed(words: str) -> tuple[str, ...]:
    """List words written in one string."""
    return tuple(words.split())


# infinitive ending: the six present forms, the participle, the stem of the future. The longest ending wins.
IRREGULAR = {
    "être": ("suis es est sommes êtes sont", "été", "ser"),
    "avoir": ("ai as a avons avez ont", "eu", "aur"),
    "aller": ("vais vas va allons allez vont", "allé", "ir"),
    "faire": ("fais fais fait faisons faites font", "fait", "fer"),
    "voir": ("vois vois voit voyons voyez voient", "vu", "verr"),
    "prendre": ("prends prends prend prenons prenez prennent", "pris", "prendr"),
    "mettre": ("mets mets met mettons mettez mettent", "mis", "mettr"),
    "venir": ("viens viens vient venons venez viennent", "venu", "viendr"),
    "tenir": ("tiens tiens tient tenons tenez tiennent", "tenu", "tiendr"),
    "savoir": ("sais sais sait savons savez savent", "su", "saur"),
    "pouvoir": ("peux peux peut pouvons pouvez peuvent", "pu", "pourr"),
    "vouloir": ("veux veux veut voulons voulez veulent", "voulu", "voudr"),
    "devoir": ("dois dois doit devons devez doivent", "dû", "devr"),
    "connaître": ("connais connais connaît connaissons connaissez connaissent", "connu", "connaîtr"),
    "élire": ("élis élis élit élisons élisez élisent", "élu", "élir"),
    "lire": ("lis lis lit lisons lisez lisent", "lu", "lir"),
    "crire": ("cris cris crit crivons crivez crivent", "crit", "crir"),
    "dire": ("dis dis dit disons dites disent", "dit", "dir"),
    "rire": ("ris ris rit rions riez rient", "ri", "rir"),
    "boire": ("bois bois boit buvons buvez boivent", "bu", "boir"),
    "croire": ("crois crois croit croyons croyez croient", "cru", "croir"),
    "cevoir": ("çois çois çoit cevons cevez çoivent", "çu", "cevr"),
    "vrir": ("vre vres vre vrons vrez vrent", "vert", "vrir"),
    "offrir": ("offre offres offre offrons offrez offrent", "offert", "offrir"),
    "partir": ("pars pars part partons partez partent", "parti", "partir"),
    "sortir": ("sors sors sort sortons sortez sortent", "sorti", "sortir"),
    "dormir": ("dors dors dort dormons dormez dorment", "dormi", "dormir"),
    "servir": ("sers sers sert servons servez servent", "servi", "servir"),
    "sentir": ("sens sens sent sentons sentez sentent", "senti", "sentir"),
    "mentir": ("mens mens ment mentons mentez mentent", "menti", "mentir"),
    "courir": ("cours cours court courons courez courent", "couru", "courr"),
    "mourir": ("meurs meurs meurt mourons mourez meurent", "mort", "mourr"),
    "naître": ("nais nais naît naissons naissez naissent", "né", "naîtr"),
    "suivre": ("suis suis suit suivons suivez suivent", "suivi", "suivr"),
    "vivre": ("vis vis vit vivons vivez vivent", "vécu", "vivr"),
    "uire": ("uis uis uit uisons uisez uisent", "uit", "uir"),
    "battre": ("bats bats bat battons battez battent", "battu", "battr"),
    "aindre": ("ains ains aint aignons aignez aignent", "aint", "aindr"),
    "eindre": ("eins eins eint eignons eignez eignent", "eint", "eindr"),
    "valoir": ("vaux vaux vaut valons valez valent", "valu", "vaudr"),
    "cueillir": ("cueille cueilles cueille cueillons cueillez cueillent", "cueilli", "cueiller"),
    "envoyer": ("envoie envoies envoie envoyons envoyez envoient", "envoyé", "enverr"),
    "asseoir": ("assieds assieds assied asseyons asseyez asseyent", "assis", "assiér"),
}
# e becomes è before a silent ending (acheter, achète); in others the consonant doubles (appeler, appelle).
GRAVE = ("acheter", "lever", "peser", "mener", "geler", "modeler")
DOUBLE = ("appeler", "rappeler", "jeter", "rejeter", "épeler")
ETRE = frozenset(
    listed(
        "aller venir revenir devenir partir sortir arriver entrer rentrer rester tomber mourir naître "
        "retourner"
    )
)
IMPERFECT = ("ais", "ais", "ait", "ions", "iez", "aient")
FUTURE = ("ai", "as", "a", "ons", "ez", "ont")
ASPIRATE = frozenset(
    listed(
        "huit huitième onze onzième haut haute hauts hautes héros haricot haricots hibou hiboux homard "
        "homards hache "
        "haches hasard hockey honte hanche hanches hall halls hongrois hongroise hongrois hongroises "
        "Hongrie hutte "
        "huttes harpe harpes hangar hangars hamster hamsters hérisson hérissons haine hauteur hauteurs"
    )
)
VOWELS = frozenset("aeiouhàâéèêëîïôöùûœæ")
# Before a vowel; ¹ marks forms that change only in front of their noun.
ELIDED = {
    "le": "l'", "la": "l'", "de": "d'", "ne": "n'", "que": "qu'", "je": "j'", "me": "m'", "te": "t'",
    "se": "s'",
    "ce": "cet", "ma": "mon", "ta": "ton", "sa": "son", "lorsque": "lorsqu'", "puisque": "puisqu'",
    "beau¹": "bel", "nouveau¹": "nouvel", "vieux¹": "vieil",
}  # fmt: skip
CONTRACTED = {
    ("de", "le"): "du", ("de", "les"): "des", ("à", "le"): "au", ("à", "les"): "aux", ("de", "des"): "de",
}  # fmt: skip
FEMININE = {
    "beau": "belle", "nouveau": "nouvelle", "vieux": "vieille", "bon": "bonne", "gros": "grosse",
    "long": "longue",
    "blanc": "blanche", "doux": "douce", "frais": "fraîche", "sec": "sèche", "public": "publique",
    "fou": "folle",
    "gentil": "gentille", "faux": "fausse", "bas": "basse", "épais": "épaisse", "roux": "rousse",
    "gras": "grasse",
    "favori": "favorite", "grec": "grecque", "turc": "turque", "las": "lasse", "prêt": "prête",
    "inquiet": "inquiète", "discret": "discrète", "secret": "secrète", "complet": "complète",
    "concret": "concrète",
    "franc": "franche", "malin": "maligne", "jumeau": "jumelle", "sot": "sotte", "jaloux": "jalouse",
    "aigu": "aiguë",
}  # fmt: skip
PLURAL = {
    "œil": "yeux", "ciel": "cieux", "travail": "travaux", "bijou": "bijoux", "genou": "genoux",
    "chou": "choux",
    "caillou": "cailloux", "hibou": "hiboux", "festival": "festivals", "carnaval": "carnavals", "bal": "bals",
    "pneu": "pneus", "bleu": "bleus", "final": "finals", "naval": "navals", "fatal": "fatals",
    "vitrail": "vitraux",
    "madame": "mesdames", "monsieur": "messieurs",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class FrenchVerb:
    """Hold the forms of a French verb."""

    infinitive: str
    present: SIX
    imperfect: SIX
    future: SIX
    conditional: SIX
    participle: str
    with_etre: bool


def conjugate(infinitive: str, *, reflexive: bool = False) -> FrenchVerb:
    """Give the forms of a verb from its infinitive."""
    present, participle, stem = _principal_parts(infinitive)
    past = "ét" if infinitive == "être" else present[3].removesuffix("ons")
    if infinitive.endswith(("cer", "ger")):
        past = infinitive[:-2]
    imperfect = tuple(_join(past, ending) for ending in IMPERFECT)
    return FrenchVerb(
        infinitive,
        present,
        imperfect,
        tuple(stem + ending for ending in FUTURE),
        tuple(stem + ending for ending in IMPERFECT),
        participle,
        reflexive or infinitive in ETRE,
    )


def _principal_parts(infinitive: str) -> tuple[SIX, str, str]:
    for ending in sorted(IRREGULAR, key=len, reverse=True):
        if infinitive.endswith(ending):
            before = infinitive[: -len(ending)]
            present, participle, stem = IRREGULAR[ending]
            return tuple(before + form for form in present.split()), before + participle, before + stem
    stem = infinitive[:-2]
    if infinitive.endswith("ir"):
        return (
            tuple(stem + e for e in ("is", "is", "it", "issons", "issez", "issent")),
            stem + "i",
            infinitive,
        )
    if infinitive.endswith("re"):
        endings = ("s", "s", "" if stem[-1] in "dt" else "t", "ons", "ez", "ent")
        return tuple(stem + e for e in endings), stem + "u", infinitive[:-1]
    silent, future = _stems(infinitive)
    endings = ("e", "es", "e", "ons", "ez", "ent")
    present_forms = tuple(_join(stem if e in ("ons", "ez") else silent, e) for e in endings)
    return present_forms, stem + "é", future + "er"


def _stems(infinitive: str) -> tuple[str, str]:
    """Give the stems of an -er verb before a silent ending and in the future."""
    stem = infinitive[:-2]
    if infinitive.endswith(DOUBLE):
        return stem + stem[-1], stem + stem[-1]
    if infinitive.endswith(GRAVE):
        grave = stem[:-2] + "è" + stem[-1]
        return grave, grave
    if infinitive.endswith(("oyer", "uyer", "ayer")):
        return stem[:-1] + "i", stem[:-1] + "i"
    closed = len(stem.rstrip("bcdfghjklmnpqrstvxzçu")) if stem[-1] not in "éu" else 0
    if closed and stem[closed - 1] == "é":
        return stem[: closed - 1] + "è" + stem[closed:], stem
    return stem, stem


def _join(stem: str, ending: str) -> str:
    """Keep the sound of c and g before a and o."""
    if ending[0] in "ao":
        stem = stem[:-1] + "ç" if stem.endswith("c") else stem + "e" if stem.endswith("g") else stem
    return stem + ending


def plural(word: str) -> str:
    """Give the plural of a noun or a masculine adjective."""
    if word in PLURAL:
        return PLURAL[word]
    if word[-1] in "sxz":
        return word
    if word.endswith("al"):
        return word[:-1] + "ux"
    return word + ("x" if word.endswith(("au", "eu")) else "s")


def feminine(adjective: str) -> str:
    """Give the feminine of an adjective or a participle."""
    if adjective in FEMININE:
        return FEMININE[adjective]
    if adjective[-1] == "e":
        return adjective
    if adjective.endswith("eux"):
        return adjective[:-1] + "se"
    if adjective.endswith("teur") and adjective not in ("supérieur",):
        return adjective[:-3] + "rice"
    if adjective.endswith("f"):
        return adjective[:-1] + "ve"
    if adjective.endswith("er"):
        return adjective[:-2] + "ère"
    if adjective.endswith(("el", "en", "eil", "et")):
        return adjective + adjective[-1] + "e"
    return adjective + "e"


def agree(adjective: str, *, is_feminine: bool, is_plural: bool) -> str:
    """Give the form of an adjective or participle that goes with a gender and a number."""
    form = feminine(adjective) if is_feminine else adjective
    return plural(form) if is_plural else form


def is_vowel_sound(word: str) -> bool:
    """Tell whether a word asks for elision before it."""
    return word[0].lower() in VOWELS and word not in ASPIRATE


def smooth(words: list[Word]) -> list[Word]:
    """Elide and contract where words meet: le + ami is l' + ami, de + le is du, which expresses both."""
    joined: list[Word] = []
    following = ""
    for form, ids in reversed(words):
        if following and form in ELIDED and is_vowel_sound(following):
            form = ELIDED[form]
        elif form == "si" and following in ("il", "ils"):
            form = "s'"
        contracted = CONTRACTED.get((form, following))
        if contracted:
            if contracted == "de" and len(joined) > 1 and is_vowel_sound(joined[-2][0]):
                contracted = "d'"
            joined[-1] = (contracted, ids + joined[-1][1])
        else:
            joined.append((form.rstrip("¹"), ids))
        following = joined[-1][0]
    return joined[::-1]
