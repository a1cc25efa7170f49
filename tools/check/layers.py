"""Layers include only themselves and layers to their left."""

from tools.check.finding import Finding, Report, Rule
from tools.check.map import CONTRACT, SHARED, STEP, Place, place_of, resolve
from tools.check.tree import Tree, is_test

NAME = "layers"


def check(tree: Tree) -> Report:
    known = set(tree.files)
    findings, count = [], 0
    for name in tree.code:
        place = place_of(name)
        if place.kind == "unknown":
            findings.append(Finding(name, 1, NAME, f"'{place.name}' is not a layer; tools/check/map.py lists the layers"))
            continue
        for include in tree.includes(name):
            target = resolve(include.target, name, known)
            if target is None:
                continue
            count += 1
            reason = forbidden(name, place, target, place_of(target))
            if reason:
                findings.append(Finding(name, include.line, NAME, f'"{include.target}": {reason}'))
    return Report(findings, f"{count} includes of our own")


def forbidden(name: str, place: Place, target: str, to: Place) -> str | None:
    """Why `name` may not include `target`, or None."""
    if to.kind == "backend" and not (place.kind == "backend" and _sees(place.name, to.name)):
        return f"no file may include backends/{to.name}"
    if place.kind == "outside":
        return "examples use only public headers" if place.name == "examples" and not _public(to, place) else None
    if is_test(name) and place.kind == "backend":
        return None
    if place.kind == "backend":
        return _from_backend(place, target, to)
    if to.kind == "outside":
        return None if is_test(name) else f"the library does not include {to.name}/"
    return _from_layer(place, to)


def _sees(backend: str, other: str) -> bool:
    """Whether a backend may include a folder of backends/: its own, and the shared one."""
    return other in (backend, SHARED)


def _public(to: Place, place: Place) -> bool:
    return to.public or (to.kind == "outside" and to.name == place.name)


def _from_backend(place: Place, target: str, to: Place) -> str | None:
    if to.kind == "backend" or target == CONTRACT:
        return None
    if place.name == "cpu":
        return None if to.public and to.name == "base" else "backends/cpu includes itself, backends/plugin/, vectis/base/ and the contract"
    return "a plug-in includes itself, backends/plugin/ and vectis/device/backend.h, nothing else of ours"


def _from_layer(place: Place, to: Place) -> str | None:
    if place.public and not to.public:
        return "a public header includes only public headers"
    if to.kind == "unknown":
        return f"'{to.name}' is not a layer; tools/check/map.py lists the layers"
    if to.name == place.name:
        return None
    if STEP[to.name] == STEP[place.name]:
        return f"{place.name} and {to.name} are siblings and must not include each other"
    if STEP[to.name] > STEP[place.name]:
        return f"{to.name} lies to the right of {place.name}"
    if not to.public and place.name in ("apps", "bindings"):
        return f"{place.name}/ may include only public headers"
    return None


RULE = Rule(NAME, "folders point one way", "move the code to the layer that owns it, or the include to the left", check)
