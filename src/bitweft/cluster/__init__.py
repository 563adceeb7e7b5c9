"""Work beyond one machine: shards on Ray, and batches for engines that other people run."""
