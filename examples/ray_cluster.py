"""Train, align and map a data set on Ray: on this machine, or on the cluster at the address that is given.

    python examples/ray_cluster.py [ADDRESS]

Needs: pip install 'bitweft[ray,parquet]' pandas. On a cluster, the directory must be seen by all nodes.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from bitweft import Aligner
from bitweft.cli import main as bitweft
from bitweft.cluster.align_batches import AlignBatches
from bitweft.cluster.engine import connected
from bitweft.sample import bitext, generate

SHARDS, PAIRS = 3, 100


def main() -> None:
    """Run the three jobs."""
    address = sys.argv[1] if len(sys.argv) > 1 else "local"
    with tempfile.TemporaryDirectory() as name, connected(address):
        directory = Path(name)
        for number in range(SHARDS):
            text, _ = bitext(generate(PAIRS, seed=number))
            lines = (f"{pair.source.text}\t{pair.target.text}\n" for pair in text)
            (directory / f"{number}.tsv").write_text("".join(lines), encoding="utf-8")
        shards, model, links = str(directory / "*.tsv"), str(directory / "enfr.weft"), directory / "links"

        assert bitweft(["train", "--shards", shards, "-o", model, "--ray", address]) == 0
        assert (
            bitweft(["align", "--shards", shards, "--model", model, "--out", str(links), "--ray", address])
            == 0
        )
        print(sorted(path.name for path in links.iterdir()))

        import ray.data  # behind `connected`: Ray Data works on the same cluster

        rows = [{"en": pair.source.text, "fr": pair.target.text} for pair in text]
        data = ray.data.from_items(rows).map_batches(
            AlignBatches,
            fn_constructor_args=[model, "en", "fr"],
            batch_size=50,
            compute=ray.data.ActorPoolStrategy(size=1),
        )
        found = {(row["en"], row["fr"]): row["links"] for row in data.take_all()}
        aligner = Aligner.load(model)
        assert all(str(aligner.align(*pair)) == own for pair, own in found.items())
        print(*next(iter(found.items())), sep="\n")


if __name__ == "__main__":
    main()
