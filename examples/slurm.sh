#!/bin/sh
# Train on a big text in shards, and align it, by arrays of Slurm; where there is no Slurm, the same steps run
# here, one after the other. A second call goes on where the first was stopped. All nodes see the directory.
# Usage: slurm.sh 'corpus/*.zst' WORK          leaves WORK/model.weft and WORK/links
set -eu
text=$1 work=$2
mkdir -p "$work"
ls $text > "$work/shards"
n=$(wc -l < "$work/shards")

once() {  # run one command on one node
    if command -v sbatch > /dev/null; then sbatch --wait --quiet --wrap "$1"; else sh -euc "$1"; fi
}

each() {  # run a command for the number $i of each shard
    if command -v sbatch > /dev/null; then
        sbatch --wait --quiet --array="1-$n" --wrap "i=\$SLURM_ARRAY_TASK_ID; $1"
    else
        for number in $(seq "$n"); do sh -euc "i=$number; $1"; done
    fi
}

[ -d "$work/0.weft" ] || once "bitweft train --shards '$text' --begin -o '$work/0.weft' -q"
for pass in 1 2; do
    last="$work/$((pass - 1)).weft"
    [ -d "$work/$pass.weft" ] && continue
    each "bitweft count '$last' \"\$(sed -n \${i}p '$work/shards')\" -o '$work/$pass.'\$i.part -q"
    once "bitweft merge '$work/$pass.'*.part --from '$last' -o '$work/$pass.weft' -q"
done
[ -d "$work/model.weft" ] || cp -r "$work/2.weft" "$work/model.weft"
each "bitweft align --shards '$text' --out '$work/links' --model '$work/model.weft' --shard \$i/$n --resume -q"
