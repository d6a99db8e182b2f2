"""What a run is to go on from, as its caller said."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs


@attrs.frozen
class Resumption:
    """What a run is to go on from.

    Args:
        checkpoint_id: the checkpoint.
        responses: answers to what is open there.
        allow_changes: whether the code may be other code than it was.
        is_ours: whether the answers were checked, against what this program knows of the run.
    """

    checkpoint_id: str
    responses: Mapping[str, Any]
    allow_changes: bool = False
    is_ours: bool = False
