"""Work in parts, as the verbs share it: their options, and `bitweft align --shards`, with Ray or without."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

from bitweft.cli.learning import say, tell_preparation
from bitweft.cli.options import at_least
from bitweft.cli.progress import Meter
from bitweft.errors import BitweftError, UsageError
from bitweft.storage.output import clear_leftovers, refuse_inputs

if TYPE_CHECKING:
    from bitweft.aligner import Aligner
    from bitweft.corpus.align_files import LinkOptions, Summary
    from bitweft.corpus.align_shards import ShardJob
    from bitweft.corpus.shards import Shard


def add_shards(parser: argparse.ArgumentParser) -> None:
    """Add the options of work in parts."""
    group = parser.add_argument_group("work in parts, on any number of machines")
    group.add_argument(
        "--shard", metavar="I/N", help="the I-th of N parts of the text; or, with --shards, of the files"
    )
    group.add_argument(
        "--shards",
        nargs="+",
        metavar="GLOB",
        help="files to align, each by itself: one pattern of joint files, or one for each side",
    )
    group.add_argument(
        "--out", metavar="DIR", help="where the links of --shards go, a file and a manifest each"
    )
    group.add_argument(
        "--compress", choices=("gz", "zst", "xz"), help="compress what --shards write, and name it so"
    )
    group.add_argument("--resume", action="store_true", help="skip shards that are done")
    add_ray(group)


def add_ray(group: argparse._ArgumentGroup) -> None:
    """Add the options of work on Ray."""
    group.add_argument(
        "--ray",
        nargs="?",
        const="local",
        metavar="ADDRESS",
        help="work on --shards by Ray: on the cluster at ADDRESS (`auto`, HOST:PORT), or on this machine",
    )
    group.add_argument(
        "--workers",
        type=at_least(1),
        metavar="N",
        help="shards that --ray works on at a time (as many as there are cores)",
    )


def check_ray(args: argparse.Namespace) -> None:
    """Refuse options of Ray that do not go with the others."""
    if args.ray is not None and args.shards is None:
        raise UsageError("--ray is for --shards: one text is worked on by one machine")
    if args.workers is not None and args.ray is None:
        raise UsageError("--workers is for --ray")
    if args.ray is not None and args.device != "cpu":
        raise UsageError("--device is not for --ray: its workers compute on CPUs")


def check_shards(args: argparse.Namespace) -> None:
    """Refuse options of training that do not go with --shards, or without it."""
    if (args.source is None) == (args.shards is None):
        raise UsageError("give the text: SOURCE [TARGET], or --shards")
    check_ray(args)
    if args.shards is None:
        given = [name for name in ("begin", "parts") if getattr(args, name)]
        if given:
            raise UsageError(f"--{given[0]} is for --shards")
        return
    alone = ("start", "checkpoint", "checkpoint_every", "dev", "dev_tags", "tags", "known_links", "lexicon")
    names = {"start": "from"}
    for name in alone:
        if getattr(args, name, None) is not None:
            option = names.get(name, name).replace("_", "-")
            raise UsageError(f"--{option} is for a single text, not for --shards")


def train_shards(
    args: argparse.Namespace, aligner: Aligner, save: Callable[[argparse.Namespace, Aligner], None]
) -> None:
    """Train on files, here or on Ray."""
    from bitweft.cluster import train
    from bitweft.cluster.engine import Here, Ray, connected
    from bitweft.corpus.shards import find_inputs
    from bitweft.recipes.base import Offer, require
    from bitweft.storage.model_directory import check_free

    require(aligner.recipe, Offer.PARTS, "--shards")
    inputs = find_inputs(args.shards)
    for name in (name for shard in inputs for name in shard):
        refuse_inputs(args.output, [name])
    kept_in = f"{args.output.rstrip('/')}.parts"
    saved = args.resume and not args.force and train.is_saved(kept_in, args.output)
    if not saved:
        check_free(args.output, force=args.force)
    reading = {"tokenize": args.tokenize or "space", "format": args.format, "languages": args.keys}
    corpus = train.Corpus(inputs, {**reading, "strict": args.strict})
    with ExitStack() as stack:
        meter = stack.enter_context(Meter(quiet=args.quiet))
        tell_preparation(aligner.recipe, meter, quiet=args.quiet)
        if args.ray is not None:
            stack.enter_context(connected(args.ray))
        engine = Here() if args.ray is None else Ray(workers=args.workers)
        training = train.Training(corpus, engine, meter.show)
        if args.begin:
            training.begin(aligner)
            save(args, aligner)
            return
        kept = train.Kept(kept_in, train.about_job(aligner, corpus), resume=args.resume)
        if saved:
            clear_leftovers(args.output)
            train.clear_up(training, kept, aligner.recipe.in_parts().passes_left, args.parts)
            say(args, f"{args.output}: learned and saved before the stop")
            return
        finish = partial(save, args)
        train.train_on_shards(aligner, training, kept, finish, parts=args.parts, threads=args.threads)


def align_files(args: argparse.Namespace, aligner: Aligner, wanted: LinkOptions) -> None:
    """Align files, each by itself."""
    from bitweft.corpus.align_files import Summary
    from bitweft.corpus.align_shards import ShardJob, model_digest
    from bitweft.corpus.shards import find_shards, parse_shard

    files = find_shards(args.shards, args.out, args.to, compress=args.compress, scores=args.scores)
    if args.shard is not None:
        part, parts = parse_shard(args.shard)
        files = files[part - 1 :: parts]
    reading = {
        "tokenize": args.tokenize or aligner.about.tokenize,
        "format": args.format,
        "languages": args.keys,
    }
    job = ShardJob(model_digest(args.model), reading, wanted, resume=args.resume, force=args.force)
    total = Summary()
    faults = []
    with Meter(quiet=args.quiet) as meter:
        for number, (shard, found) in enumerate(aligned(args, aligner, files, job, meter), 1):
            if isinstance(found, BitweftError):
                faults.append(found)
            elif found is not None:
                total += found
            if not args.quiet:
                said = "done before" if found is None else str(found)
                meter.say(f"{number:,} of {len(files):,}: {shard.name}: {said}")
    if faults:
        say(args, f"now aligned: {total}")
        raise BitweftError(f"{len(faults):,} of {len(files):,} shards failed; the first: {faults[0]}")
    say(args, f"all {len(files):,} shards done; now aligned: {total}")


def aligned(
    args: argparse.Namespace, aligner: Aligner, files: Sequence[Shard], job: ShardJob, meter: Meter
) -> Iterator[tuple[Shard, Summary | BitweftError | None]]:
    """Align the files here, one after the other, or on Ray."""
    if args.ray is None:
        from bitweft.corpus.align_shards import align_shards

        tell_preparation(aligner.recipe, meter, quiet=args.quiet)
        yield from align_shards(aligner, files, job, meter.show)
        return
    from bitweft.cluster.align import align_on_ray

    threads = args.threads or 1
    where = {"address": args.ray, "threads": threads, "workers": args.workers}
    yield from align_on_ray(args.model, files, job, meter.show, **where)
