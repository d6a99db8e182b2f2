"""What layers above need of trio's lower level, so that they need none of it themselves."""

from trio.lowlevel import Task, checkpoint_if_cancelled, current_task, enable_ki_protection

__all__ = ("Task", "checkpoint_if_cancelled", "current_task", "enable_ki_protection")
