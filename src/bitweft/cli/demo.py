"""`bitweft demo`: the whole job, seen from beginning to end on the embedded sample."""

from __future__ import annotations

import argparse
import importlib
import shlex
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bitweft.cli.drawing import draw_links
from bitweft.cli.learning import tell_preparation
from bitweft.cli.options import at_least, wants_color
from bitweft.cli.progress import Meter
from bitweft.cli.screen import WIDTH, Screen
from bitweft.corpus.lexicon import Entry, Lexicon, Pruning
from bitweft.errors import InputError, UsageError
from bitweft.links.alignment import Alignment, GoldAlignment, Link
from bitweft.links.alignment import Entry as LinkEntry
from bitweft.links.evaluate import Score, evaluate
from bitweft.links.formats.pharaoh import format_line
from bitweft.recipes.registry import DEFAULT
from bitweft.sample import SamplePair, bitext, generate, natural
from bitweft.storage.output import open_output
from bitweft.text.bitext import Bitext
from bitweft.viewer import page

DESCRIPTION = """\
Show the whole job on the embedded sample: English-French pairs drawn from a small grammar, and a hundred
written by hand. A model learns from the text alone; the links it finds are drawn, scored against the gold
links, which it has never seen, and counted into a dictionary."""
EXAMPLES = """\
  bitweft demo
  bitweft demo --pairs 5000 --seed 7
  bitweft demo -o demo
  bitweft demo --recipe paper"""

# Drawn whatever becomes of them: short, and with words that change places.
EXAMPLE_SENTENCES = (
    "I am afraid of spiders , but my brother loves them .",
    "He gave it to her without saying a word .",
    "We did not understand the last question .",
)
FILES = ("sample.en", "sample.fr", "sample.gold", "sample.links",
         "natural.en", "natural.fr", "natural.gold", "natural.links", "page.html")  # fmt: skip
DEMOS = {"paper": "bitweft.cli.demo_paper"}  # of recipes that have one of their own
KEEP = ("keep it all as files", "demo -o {}")
NEXT = (
    ("score with intervals", "evaluate {}/natural.links {}/natural.gold"),
    ("keep a model, and align other text with it", "train {}/sample.en {}/sample.fr -o {}.weft"),
    (None, "align {}/natural.en {}/natural.fr --model {}.weft > {}/other.links"),
    ("your own text, two files with a sentence a line: align YOUR.en YOUR.fr > links", "align --help"),
)


@dataclass(frozen=True, slots=True)
class Part:
    """Hold one part of the demo's text, with the links found in it."""

    name: str
    pairs: Sequence[SamplePair]
    links: Sequence[Alignment]

    @property
    def gold(self) -> list[GoldAlignment]:
        """Give the gold links."""
        return [pair.gold for pair in self.pairs]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument(
        "--pairs",
        type=at_least(1),
        default=2000,
        metavar="N",
        help="how many pairs to draw from the grammar (2000)",
    )
    parser.add_argument(
        "--seed", type=at_least(0), default=1, metavar="N", help="seed of the text and of the model (1)"
    )
    parser.add_argument(
        "--recipe",
        choices=(DEFAULT, *DEMOS),
        default=DEFAULT,
        help="paper: train the paper's aligner with each aggregation; show its table 1, scores and neighbors",
    )
    parser.add_argument(
        "-o", "--output", metavar="DIR", help="write the text, the gold links and the links found into DIR"
    )
    parser.add_argument("--force", action="store_true", help="overwrite files in DIR")


def run(args: argparse.Namespace) -> None:
    """Run the verb."""
    other = DEMOS.get(args.recipe)
    if other is not None:
        if args.output is not None:
            raise UsageError(f"-o is not supported by the demo of the recipe {args.recipe!r}")
        with open_output(None) as stream:
            show_other = importlib.import_module(other).show
            show_other(Screen(stream, wants_color(stream)), args.pairs, args.seed)
        return
    if args.output is not None:
        check_directory(Path(args.output), force=args.force)
    with open_output(None) as stream:
        show(Screen(stream, wants_color(stream)), args.pairs, args.seed, args.output, force=args.force)


def show(screen: Screen, pairs: int, seed: int, directory: str | None, *, force: bool = False) -> None:
    """Do the whole job and show it."""
    screen.line()
    screen.line(f"  {screen.style('bitweft', '1;36')}  word alignment from nothing but parallel text")
    screen.line()
    with screen.step("A small grammar draws sentences in English and in French") as note:
        drawn = list(generate(pairs, seed))
        note.append(f"{pairs:,} pairs")
    with screen.step("More natural ones were written, and linked, by hand") as note:
        written = natural()
        note.append(f"{len(written)} pairs")
    text, _ = bitext([*drawn, *written])
    links = learn(screen, text, seed)
    parts = [
        Part("drawn from the grammar", drawn, links[:pairs]),
        Part("written by hand", written, links[pairs:]),
    ]
    show_examples(screen, parts[1])
    show_scores(screen, parts)
    show_dictionary(screen, Lexicon.count(text, links, lower=True))
    if directory is not None:
        write_files(Path(directory), parts, force=force)
        screen.title("Written")
        screen.line(f"    in {directory}: text, gold links and found links of both")
        screen.line(f"    {Path(directory, FILES[-1])}: open it in a browser to see every link")
    show_next(screen, directory)


def learn(screen: Screen, text: Bitext, seed: int) -> list[Alignment]:
    """Train on a text and align it."""
    with screen.step("Loading the aligner"):
        from bitweft.aligner import Aligner

        aligner = Aligner(seed=seed)
    tell_preparation(aligner.recipe, Meter())
    with screen.step("It learns from the text alone: no dictionary, no links"), Meter() as meter:
        aligner.fit(text, progress=meter.show)
    with screen.step("It aligns every pair"):
        return list(aligner.align(text))


def show_examples(screen: Screen, part: Part) -> None:
    """Draw three sentence pairs with their links, and tell how they compare with the gold."""
    screen.title("Three of the pairs written by hand, as aligned")
    chosen = {
        " ".join(pair.source): (pair, links) for pair, links in zip(part.pairs, part.links, strict=True)
    }
    for number, sentence in enumerate(EXAMPLE_SENTENCES):
        pair, links = chosen[sentence]
        found = set(links.links)
        wrong, missed = sorted(found - pair.gold.possible), sorted(pair.gold.sure - found)
        if number:
            screen.line()
        for line in draw_links(
            pair.source, pair.target, found, missed=missed, width=WIDTH - 4, color=screen.color
        ):
            screen.line(f"    {line}")
        said = [screen.style(f"{len(found)} links", "2")]
        said += [screen.style(f"wrong: {named(pair, wrong)}", "31")] if wrong else []
        said += [screen.style(f"missed, dotted: {named(pair, missed)}", "33")] if missed else []
        said += [] if wrong or missed else [screen.style("all as in the gold", "32")]
        screen.line("    " + "; ".join(said))


def named(pair: SamplePair, links: Sequence[Link]) -> str:
    """Name a few links by their words."""
    shown = ", ".join(f"{pair.source[s]}–{pair.target[t]}" for s, t in links[:3])
    return shown + (f" and {len(links) - 3} more" if len(links) > 3 else "")


def show_scores(screen: Screen, parts: Sequence[Part]) -> None:
    """Show precision, recall, F1 and AER against the gold links."""
    screen.title("Against the gold links, which it has not seen")
    head = f"    {'':24}{'precision':>10}{'recall':>9}{'F1':>8}{'AER':>8}{'links':>9}"
    screen.line(screen.style(head, "2"))
    for part in parts:
        screen.line(score_line(screen, part.name, evaluate(part.links, part.gold)))
    screen.line(screen.style("    AER is the alignment error rate: the lower, the better.", "2"))


def score_line(screen: Screen, name: str, score: Score) -> str:
    """Write one row of the table, in percent."""
    precision, recall, f1, aer = (
        f"{100 * x:.1f}" for x in (score.precision, score.recall, score.f1, score.aer)
    )
    strong = screen.style(f"{f1:>8}{aer:>8}", "1")
    return f"    {name:24}{precision:>10}{recall:>9}{strong}{score.links:>9,}"


def show_dictionary(screen: Screen, lexicon: Lexicon) -> None:
    """Show the entries that the links leave the least doubt of, frequent words first among equals."""
    entries = surest(lexicon, 18)
    if not entries:
        return
    screen.title("The surest words of the dictionary it learned")
    cells = [(f"{entry.source} – {entry.target}", f"{sureness(entry):.2f}") for entry in entries]
    rows = -(-len(cells) // 3)
    for row in range(rows):
        line = "    "
        for word, sure in cells[row::rows]:
            shown = word if len(word) <= 19 else word[:18] + "…"
            line += f"{screen.style(sure, '36')}  {shown:19}"
        screen.line(line)


def sureness(entry: Entry) -> float:
    """Give the lower of both probabilities, as if each word had been seen once more, linked elsewhere."""
    return entry.count / (max(entry.source_count, entry.target_count) + 1)


def surest(lexicon: Lexicon, most: int) -> list[Entry]:
    """Choose the surest entries of words that differ between the languages."""
    entries = [
        entry
        for entry in lexicon.by_source(Pruning(min_count=3, top=1))
        if entry.source and entry.target and entry.source != entry.target and entry.source.isalpha()
    ]
    return sorted(entries, key=lambda entry: (-sureness(entry), entry.source or ""))[:most]


def check_directory(directory: Path, *, force: bool) -> None:
    """Make the directory; refuse before the work, not after it, if a file would be overwritten."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot be made a directory: {error.strerror}", file=str(directory)) from error
    for name in FILES:
        if (directory / name).exists() and not force:
            raise InputError("exists already; give --force to overwrite it", file=str(directory / name))


def write_files(directory: Path, parts: Sequence[Part], *, force: bool) -> None:
    """Write text, gold links and found links of both parts."""
    writers: tuple[Callable[[SamplePair, Alignment], str], ...] = (
        lambda pair, _: " ".join(pair.source),
        lambda pair, _: " ".join(pair.target),
        lambda pair, _: format_line(
            LinkEntry(Alignment.of(pair.gold.possible), pair.gold.possible - pair.gold.sure), "possible"
        ),
        lambda _, links: str(links),
    )
    for part, names in zip(parts, (FILES[:4], FILES[4:8]), strict=True):
        for name, write in zip(names, writers, strict=True):
            with open_output(directory / name, force=force) as stream:
                stream.writelines(
                    write(pair, links) + "\n" for pair, links in zip(part.pairs, part.links, strict=True)
                )
    seen = Part("", [*parts[1].pairs, *parts[0].pairs], [*parts[1].links, *parts[0].links])
    with open_output(directory / FILES[-1], force=force) as stream:
        note = "English and French: a hundred pairs written by hand, then those drawn from a grammar"
        page(bitext(seen.pairs)[0], seen.links, seen.gold, stream=stream, title="bitweft demo", note=note)


def show_next(screen: Screen, directory: str | None) -> None:
    """Suggest what to type next: lines that a shell takes as they are."""
    screen.title("Next")
    command = own_command()
    place = shlex.quote((directory or "demo").rstrip("/"))
    for purpose, arguments in NEXT if directory else (KEEP, *NEXT):
        if purpose:
            screen.line(f"    {screen.style(f'# {purpose}', '2')}")
        screen.line(f"    {screen.style(f'{command} {arguments}'.replace('{}', place), '36')}")
    screen.line()


def own_command() -> str:
    """Return what to type for this program: its path, where `bitweft` alone is not found or is another."""
    program = Path(sys.executable).with_name("bitweft" + Path(sys.executable).suffix)
    found = shutil.which("bitweft")
    if found is not None and Path(found).resolve() == program.resolve():
        return "bitweft"
    if not program.exists():
        return f"{shlex.quote(sys.executable)} -m bitweft"
    here = Path.cwd()
    below = here in program.parents[1:]  # a name without a directory would be looked for in PATH
    return shlex.quote(str(program.relative_to(here) if below else program))
