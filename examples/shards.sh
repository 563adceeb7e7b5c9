#!/bin/sh
# Align a big text in shards: run this on any number of machines that share a directory, each with its own
# number; a machine that is stopped goes on where it was. Usage: shards.sh I N
set -eu
bitweft align --shards 'corpus.*.zst' --out links --model enfr.weft --shard "$1/$2" --resume
