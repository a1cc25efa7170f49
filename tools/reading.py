"""Draws excerpts for the reading test: `python3 -m tools.reading --seed N --out FOLDER`.

The test measures whether a stranger understands our text. A reader who has not seen the project gets one excerpt alone, a
declaration with its comment or a paragraph of the docs, and states its effect, one precondition and one failure (of a
paragraph: what it says, and what a user should do with it). A second reader grades the answers against the sources.

Writes `declarations.md` and `paragraphs.md`, which a reader may see, and `key.json`, which says where each excerpt is."""

import argparse
import json
import random
import re
import subprocess
from pathlib import Path

COUNT = 40
_COMMENT = re.compile(r"\s*//(?!=)")
_DECLARATION = re.compile(r"\s*(?:\[\[|class |struct |enum |template|VECTIS_API|virtual|static|explicit|constexpr|inline|"
                          r"std::|void |bool |[A-Z]\w*[<&*\s]|[a-z_0-9:]+[<&*\s]+\w+\()")


def files(root: Path, *patterns: str) -> list[str]:
    command = ["git", "-c", "safe.directory=*", "ls-files", *patterns]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout.split()


def declarations(text: str) -> list[tuple[int, str]]:
    """Line number and text of every declaration with a comment directly above it."""
    lines, found, start = text.splitlines(), [], None
    for number, line in enumerate(lines):
        if _COMMENT.match(line):
            start = number if start is None else start
            continue
        if start is not None and start > 0 and _DECLARATION.match(line):
            end = number
            while end < len(lines) - 1 and not re.search(r"[;{}]\s*(?://.*)?$", lines[end]):
                end += 1
            found.append((start + 1, "\n".join(lines[start:end + 1])))
        start = None
    return found


def paragraphs(text: str) -> list[tuple[int, str]]:
    """Line number and text of every paragraph of prose with at least eight words; code, tables and headings are not."""
    found, block, start, code = [], [], 0, False
    for number, line in enumerate([*text.splitlines(), ""], 1):
        if line.startswith("```"):
            code, block = not code, []
        elif code:
            continue
        elif line.strip() and not re.match(r"[#|!<]", line):
            start = start if block else number
            block.append(line)
        else:
            if len(" ".join(block).split()) >= 8:
                found.append((start, "\n".join(block)))
            block = []
    return found


def drawn(root: Path, names: list[str], parse, seed: str) -> list[dict]:
    everything = [{"file": name, "line": line, "text": excerpt} for name in names
                  for line, excerpt in parse((root / name).read_text(encoding="utf-8"))]
    return random.Random(seed).sample(everything, min(COUNT, len(everything)))


def page(excerpts: list[dict], language: str) -> str:
    return "".join(f"## {number}\n```{language}\n{one['text']}\n```\n\n" for number, one in enumerate(excerpts, 1))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python3 -m tools.reading", description=__doc__.splitlines()[0])
    parser.add_argument("--seed", default="1")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--root", type=Path, default=Path.cwd(), help="the checkout to draw from")
    arguments = parser.parse_args()
    headers = files(arguments.root, "include/*.hpp", "include/*.h", "src/*.hpp", "backends/*.hpp")
    pages = [name for name in files(arguments.root, "README.md", "docs/*.md") if "evidence" not in name]
    chosen = {"declarations": drawn(arguments.root, headers, declarations, arguments.seed),
              "paragraphs": drawn(arguments.root, pages, paragraphs, arguments.seed)}
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name, excerpts in chosen.items():
        (arguments.out / f"{name}.md").write_text(page(excerpts, "cpp" if name == "declarations" else "text"))
    (arguments.out / "key.json").write_text(json.dumps(chosen, indent=1))


if __name__ == "__main__":
    main()
