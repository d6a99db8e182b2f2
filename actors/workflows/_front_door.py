"""Reaching what layers above make of a workflow, for its methods that hand it to them.

A workflow becomes an agent by one method call, and agents are a layer above workflows. The
package itself knows where every public name is; asked at the time of the call, it is no import.
"""

from __future__ import annotations

import sys
from typing import Any


def front_door(name: str) -> Any:
    """Return a public name of the package."""
    return getattr(sys.modules[__name__.partition(".")[0]], name)
