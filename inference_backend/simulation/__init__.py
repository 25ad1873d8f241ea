"""What the pools would do with other GPUs and other traffic: the real schedulers, on a clock of discrete events."""
