"""English forms: plural, verb forms, a or an."""

from __future__ import annotations

from dataclasses import dataclass

from bitweft.sample.french import Word, listed

PLURAL = {
    "man": "men", "woman": "women", "child": "children", "person": "people", "foot": "feet", "tooth": "teeth",
    "mouse": "mice", "wife": "wives", "knife": "knives", "life": "lives", "wolf": "wolves", "leaf": "leaves",
    "loaf": "loaves", "shelf": "shelves", "thief": "thieves", "sheep": "sheep", "fish": "fish",
    "goose": "geese",
    "hero": "heroes", "potato": "potatoes", "tomato": "tomatoes", "half": "halves", "scarf": "scarves",
    "policeman": "policemen", "fireman": "firemen", "fisherman": "fishermen", "businessman": "businessmen",
    "crisis": "crises", "salmon": "salmon", "calf": "calves", "roof": "roofs", "stomach": "stomachs",
}  # fmt: skip
# base: past, participle
IRREGULAR = {
    base: (past, participle)
    for base, past, participle in (
        entry.split("/")
        for entry in listed(
            "be/was/been have/had/had go/went/gone do/did/done make/made/made see/saw/seen take/took/taken "
            "put/put/put come/came/come hold/held/held know/knew/known read/read/read write/wrote/written "
            "say/said/said drink/drank/drunk eat/ate/eaten buy/bought/bought sell/sold/sold give/gave/given "
            "send/sent/sent show/showed/shown tell/told/told lend/lent/lent teach/taught/taught "
            "find/found/found "
            "lose/lost/lost leave/left/left sleep/slept/slept run/ran/run die/died/died fall/fell/fallen "
            "break/broke/broken bring/brought/brought build/built/built choose/chose/chosen cut/cut/cut "
            "draw/drew/drawn drive/drove/driven feel/felt/felt forget/forgot/forgotten hear/heard/heard "
            "hide/hid/hidden keep/kept/kept lead/led/led learn/learned/learned meet/met/met pay/paid/paid "
            "speak/spoke/spoken spend/spent/spent steal/stole/stolen swim/swam/swum sing/sang/sung "
            "think/thought/thought "
            "throw/threw/thrown understand/understood/understood wear/wore/worn win/won/won "
            "begin/began/begun "
            "bite/bit/bitten get/got/got stand/stood/stood sit/sat/sat wake/woke/woken lie/lied/lied "
            "fight/fought/fought "
            "grow/grew/grown sweep/swept/swept catch/caught/caught feed/fed/fed ride/rode/ridden set/set/set "
            "shut/shut/shut become/became/become light/lit/lit hurt/hurt/hurt fly/flew/flown "
            "dream/dreamed/dreamed "
            "burn/burned/burned weave/wove/woven melt/melted/melted"
        )
    )
}
DOUBLING = frozenset(
    listed("stop plan rob admit prefer chat hug drop cut put win run swim sit get forget begin shut set")
)
COMPARATIVE = {
    "big": "bigger", "small": "smaller", "old": "older", "young": "younger", "rich": "richer",
    "poor": "poorer",
    "strong": "stronger", "weak": "weaker", "long": "longer", "happy": "happier", "sad": "sadder",
    "easy": "easier",
    "large": "larger", "pretty": "prettier", "heavy": "heavier", "clean": "cleaner", "dark": "darker",
    "quick": "quicker", "fast": "faster", "slow": "slower", "cheap": "cheaper", "proud": "prouder",
    "wise": "wiser",
}  # fmt: skip
AN = ("a", "e", "i", "o", "u", "hour", "honest", "heir")
A = ("uni", "use", "usu", "euro", "one", "once", "ukr")


@dataclass(frozen=True, slots=True)
class EnglishVerb:
    """Hold the forms of an English verb."""

    base: str
    third: str
    past: str
    participle: str
    gerund: str


def conjugate(base: str) -> EnglishVerb:
    """Give the forms of a verb from its base."""
    regular = _before_ending(base, "ed") + "ed"
    past, participle = IRREGULAR.get(base, (regular, regular))
    third = {"be": "is", "have": "has", "go": "goes", "do": "does"}.get(base) or plural(base)
    gerund = {"die": "dying", "lie": "lying", "be": "being"}.get(base) or _before_ending(base, "ing") + "ing"
    return EnglishVerb(base, third, past, participle, gerund)


def _before_ending(base: str, ending: str) -> str:
    if base.endswith("e") and not (ending == "ing" and base.endswith("ee")):
        return base[:-1]
    if base in DOUBLING:
        return base + base[-1]
    if ending == "ed" and base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "i"
    return base


def plural(noun: str) -> str:
    """Give the plural of a noun, which is also how a verb takes its s."""
    if noun in PLURAL:
        return PLURAL[noun]
    if noun.endswith(("s", "x", "z", "ch", "sh")):
        return noun + "es"
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + "s"


def smooth(words: list[Word]) -> list[Word]:
    """Choose between a and an, and write can not as one word."""
    joined: list[Word] = []
    following = ""
    for form, ids in reversed(words):
        if form == "a" and following.lower().startswith(AN) and not following.lower().startswith(A):
            form = "an"
        if form == "can" and following == "not":
            joined[-1] = ("cannot", ids + joined[-1][1])
        else:
            joined.append((form, ids))
        following = joined[-1][0]
    return joined[::-1]
