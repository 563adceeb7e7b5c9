"""Words of lines of UTF-8 as numbers, by a hash table of the bytes that they are written in."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from bitweft.recipes.compile import compiled
from bitweft.recipes.default.compiled.types import Ints, Longs

Bytes: TypeAlias = npt.NDArray[np.uint8]
Shorts: TypeAlias = npt.NDArray[np.int16]

FREE = -1  # of a slot
PARTS = -1  # of a byte: it is of no word, but stands between words
LINE_FEED = 10


class Forms(NamedTuple):
    """Hold distinct words, as they are written, in a hash table; at least half of it is free."""

    slots: Longs  # (slots, a power of 2): number of a form + 2³² · some bits of its hash, or FREE
    starts: Longs  # (slots / 2 + 1): where each form begins in `letters`
    letters: Bytes  # the forms, a line feed after each


class Numbered(NamedTuple):
    """Hold the room for the numbers of a text, and how far it is."""

    tokens: Ints  # (words or more): the form of each; of one that is not found, −1 − its first byte's place
    ends: Longs  # (lines): tokens up to the end of each
    done: Longs  # (4): bytes, tokens and lines that are done, forms that are found
    word: Bytes  # (bytes of the longest word + 1 or more): for a word that is looked at


@compiled(entry=True)
def number_words(text: Bytes, letter_of: Shorts, forms: Forms, numbered: Numbered, adding: bool) -> bool:
    """Number the words of a text, whose last byte is a line feed.

    `letter_of` says what each byte is written as, or PARTS. Forms that are not found are added, and numbered
    in the order in which they come first, or are not. False: it has stopped for want of slots, and can go on
    with a larger table.
    """
    slots, starts, letters = forms
    tokens, ends, done, word = numbered
    place, token, line, count = done[0], done[1], done[2], done[3]
    mask = len(slots) - 1
    while place < len(text):
        letter = letter_of[text[place]]
        if letter == PARTS:
            if text[place] == LINE_FEED:
                ends[line] = token
                line += 1
            place += 1
            continue
        if adding and 2 * count == len(slots):
            break
        start = place
        hashed = np.uint64(0xCBF29CE484222325)  # FNV-1a
        while letter != PARTS:
            word[place - start] = letter
            hashed = (hashed ^ np.uint64(letter)) * np.uint64(0x100000001B3)
            place += 1
            letter = letter_of[text[place]]
        length = place - start
        word[length] = LINE_FEED
        own = np.int64((hashed ^ (hashed >> np.uint64(29))) >> np.uint64(1))
        slot = own & mask
        while slots[slot] != FREE:
            if slots[slot] >> 32 == own >> 32:
                first = starts[slots[slot] & 0x7FFFFFFF]
                same = 0
                while same <= length and letters[first + same] == word[same]:
                    same += 1
                if same > length:
                    break
            slot = (slot + 1) & mask
        if slots[slot] != FREE:
            tokens[token] = slots[slot] & 0x7FFFFFFF
        elif adding:
            slots[slot] = own >> 32 << 32 | count
            first = starts[count]
            for place_in_word in range(length + 1):  # an assignment of slices takes long to compile
                letters[first + place_in_word] = word[place_in_word]
            starts[count + 1] = first + length + 1
            tokens[token] = count
            count += 1
        else:
            tokens[token] = -1 - start
        token += 1
    done[0], done[1], done[2], done[3] = place, token, line, count
    return bool(place == len(text))
