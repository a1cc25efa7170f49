"""No cycle between folders."""

from tools.check.finding import Finding, Report, Rule
from tools.check.map import resolve
from tools.check.tree import Tree

NAME = "cycles"
Edges = dict[str, dict[str, tuple[str, int]]]  # from folder, to folder, one include that makes the edge


def folder_of(path: str) -> str:
    """The folder of a file; `include/vectis/x.hpp`, all of a layer, belongs to the layer's folder."""
    folder, _, file = path.rpartition("/")
    return f"{folder}/{file.removesuffix('.hpp')}" if folder == "include/vectis" else folder


def folder_edges(tree: Tree) -> Edges:
    known = set(tree.files)
    edges: Edges = {}
    for name in tree.code:
        if name.endswith("_test.cpp"):
            continue
        for include in tree.includes(name):
            target = resolve(include.target, name, known)
            if target and folder_of(target) != folder_of(name):
                edges.setdefault(folder_of(name), {}).setdefault(folder_of(target), (name, include.line))
    return edges


def find_cycles(edges: Edges) -> list[list[str]]:
    """One cycle through each edge that closes one in a depth-first search."""
    cycles, done, path = [], set(), []

    def visit(folder: str) -> None:
        path.append(folder)
        for target in sorted(edges.get(folder, {})):
            if target in path:
                cycles.append(path[path.index(target):] + [target])
            elif target not in done:
                visit(target)
        path.pop()
        done.add(folder)

    for start in sorted(edges):
        if start not in done:
            visit(start)
    return cycles


def check(tree: Tree) -> Report:
    edges = folder_edges(tree)
    cycles = find_cycles(edges)
    findings = []
    for cycle in cycles:
        file, line = edges[cycle[-2]][cycle[-1]]
        findings.append(Finding(file, line, NAME, "closes the cycle " + " -> ".join(cycle)))
    return Report(findings, f"{len(cycles)} cycles between {len(edges)} folders")


RULE = Rule(NAME, "no cycle between folders", "move what both need to the folder on the left", check)
