"""Pairs aligned in chunks, over threads, in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from bitweft.text.bitext import SentencePair
from bitweft.text.inputs import Pairs
from bitweft.text.parallel import Most, gathered

CHUNK = 256  # pairs that one thread aligns in a turn
WORDS = 20_000  # of a chunk, at most: long sentences come in smaller ones

Chunk = TypeVar("Chunk")
Result = TypeVar("Result")


def never() -> bool:
    """Tell that nothing has to be waited for."""
    return False


def chunks_of(pairs: Iterable[SentencePair], idle: Callable[[], bool]) -> Iterator[list[SentencePair]]:
    """Part pairs into lists; what was read before a fault, or before a wait, comes first."""
    return gathered(pairs, CHUNK, lambda pair: len(pair.source) + len(pair.target), WORDS, idle)


def chunks_of_text(text: Pairs, idle: Callable[[], bool]) -> Iterator[Sequence[SentencePair]]:
    """Part a text into chunks in the same way, of lines where it can be walked so."""
    blocks = text.blocks(Most(CHUNK, 2 * WORDS))  # four bytes a word, or more, in nearly any language
    return chunks_of(text, idle) if blocks is None else blocks


def in_threads(
    chunks: Iterator[Chunk], work: Callable[[Chunk], Result], workers: int, idle: Callable[[], bool] = never
) -> Iterator[tuple[Chunk, Result]]:
    """Work on chunks as they come, in order, holding no more than the threads are busy with.

    None is held back while the next is waited for (`idle`); a fault comes up after the chunks before it.
    """
    fault: Exception | None = None
    with ThreadPoolExecutor(workers) as pool:
        waiting: deque[tuple[Chunk, Future[Result]]] = deque()
        try:
            while fault is None:
                try:
                    chunk = next(chunks, None)
                except Exception as error:  # comes up below, after the pairs before it
                    fault = error
                    break
                if chunk is None:
                    break
                waiting.append((chunk, pool.submit(work, chunk)))
                while len(waiting) > 2 * workers or (waiting and idle()):
                    own, future = waiting.popleft()
                    yield own, future.result()
            while waiting:
                own, future = waiting.popleft()
                yield own, future.result()
        finally:
            for _, future in waiting:
                future.cancel()
    if fault is not None:
        raise fault
