"""What isn't handled now: timers, ticks, the stash, letters of the dead, limits of time."""
