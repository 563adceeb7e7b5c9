"""Long runs of one character, through every reader: no reader may look at a character again and again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bitweft.links.formats.registry import LINK_FORMATS
from bitweft.text.joint import FORMATS
from bitweft.text.tokenize import TOKENIZERS

LENGTH = 200_000
# What quadratic work on a run would take is hours: this is no bound on time, but the end of waiting.
WAIT = 240

READERS = {
    **{f"text {how}": f"list(Bitext(path, path, tokenize={how!r}, strict=False))" for how in TOKENIZERS},
    **{f"joint {name}": f"list(Bitext(path, format={name!r}, strict=False))" for name in FORMATS},
    "joint auto": "list(Bitext(path))",
    **{f"links {name}": f"list(read_entries(path, {name!r}))" for name in LINK_FORMATS},
    "links auto": "list(read_entries(path))",
    "lexicon": "read_lexicon(path)",
    "tags": "list(TaggedText(Bitext(path, path), source=path))",
}
PROGRAM = """
import itertools, json, sys
from bitweft.errors import BitweftError
from bitweft.links.formats.registry import read_entries
from bitweft.links.known import read_lexicon
from bitweft.text.bitext import Bitext
from bitweft.text.tags import TaggedText
path, reader, length = sys.argv[1], sys.argv[2], int(sys.argv[3])
starts, ends = ["", "1 1 1", '{"src": "'], ["", "x"]
done = 0
runs = " \\t|-:?p(){}[]\\",.#_'0a\\u00a0\\u0301\\u1100\\u200d\\U0001f600"
for run, start, end in itertools.product(runs, starts, ends):
    with open(path, "w", encoding="utf-8") as file:
        file.write(start + run * length + end + "\\n")
    try:
        eval(reader)
    except BitweftError:
        pass
    done += 1
print(done)
"""


@pytest.mark.parametrize("name", READERS)
def test_a_run_of_any_character_is_read_in_one_go(tmp_path: Path, name: str) -> None:
    length = LENGTH if name == "joint joint" else LENGTH // 10
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "file"), READERS[name], str(length)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=WAIT)
    assert done.stderr == "" and int(done.stdout) > 100
