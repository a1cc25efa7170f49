"""The map of the repository: which folder is which layer, and the order of the layers."""

from dataclasses import dataclass
from pathlib import PurePosixPath

# Left to right; layers in one tuple are siblings.
ORDER = (("base",), ("device",), ("memory",), ("kernel",), ("plan",), ("array",), ("search", "nn", "par"), ("store",),
         ("learn",), ("server",), ("bindings", "apps"))
STEP = {layer: step for step, layers in enumerate(ORDER) for layer in layers}

UMBRELLA = "include/vectis/vectis.hpp"  # all layers
CONTRACT = "include/vectis/device/backend.h"
SHARED = "plugin"  # backends/plugin: code shared by our backends


@dataclass(frozen=True)
class Place:
    """The layer or backend a file belongs to. `kind` is layer, backend, outside (tests, examples) or unknown."""

    kind: str
    name: str = ""
    public: bool = False


def place_of(path: str) -> Place:
    if path == UMBRELLA:
        return Place("layer", "bindings", public=True)
    parts = PurePosixPath(path).parts
    if parts[:2] == ("include", "vectis") and len(parts) > 2:
        return _layer(PurePosixPath(parts[2]).stem if len(parts) == 3 else parts[2], public=True)
    if parts[0] == "src" and len(parts) > 2:
        return _layer(parts[1], public=False)
    if parts[0] in ("apps", "bindings"):
        return Place("layer", parts[0])
    if parts[0] == "backends" and len(parts) > 2:
        return Place("backend", parts[1])
    return Place("outside", parts[0])


def _layer(name: str, public: bool) -> Place:
    return Place("layer" if name in STEP else "unknown", name, public)


def resolve(target: str, includer: str, known: set[str]) -> str | None:
    """The repository path an #include refers to, or None when the header is not ours.

    A file that does not exist counts as ours when its first folder is one of ours.
    """
    beside = _normalise(PurePosixPath(includer).parent / target)
    top = PurePosixPath(includer).parts[0]
    for candidate in (beside, "include/" + target, "src/" + target, f"{top}/{target}", target):
        if candidate in known:
            return candidate
    first = PurePosixPath(target).parts[0]
    if first == "..":
        return beside
    if first == "vectis":
        return "include/" + target
    if first in ("backends", "apps", "bindings") and "/" in target:
        return target
    if first in STEP and "/" in target:
        return "src/" + target
    return None


def _normalise(path: PurePosixPath) -> str:
    parts: list[str] = []
    for part in path.parts:
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)
