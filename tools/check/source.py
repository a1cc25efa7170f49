"""A minimal C++ lexer that separates code from comments and literals."""

import re
from dataclasses import dataclass

_TOKENS = re.compile(
    r"""
      //(?:[^\n\\]|\\.|\\\n)*            # line comment, continued by a backslash
    | /\*.*?(?:\*/|\Z)                   # block comment
    | (?P<raw>\b(?:u8|[uUL])?R"(?P<tag>[^()\s\\]{0,16})\(.*?(?:\)(?P=tag)"|\Z))
    | "(?:[^"\\\n]|\\.|\\\n)*"?          # string
    | (?<![0-9a-fA-F])'(?:[^'\\\n]|\\.)*'?  # character; a quote after a digit separates digits
    """,
    re.VERBOSE | re.DOTALL,
)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)', re.MULTILINE)


@dataclass(frozen=True)
class Include:
    line: int
    target: str
    quoted: bool


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match.group())


def blank_comments_and_strings(text: str) -> str:
    return _TOKENS.sub(_blank, text)


def blank_comments(text: str) -> str:
    return _TOKENS.sub(lambda match: _blank(match) if match.group().startswith(("//", "/*")) else match.group(), text)


def find_includes(text: str) -> list[Include]:
    code = blank_comments(text)
    bare = blank_comments_and_strings(text)
    found = []
    for match in _INCLUDE.finditer(code):
        hash_at = code.index("#", match.start())
        if bare[hash_at] != "#":  # inside a raw string
            continue
        line = code.count("\n", 0, hash_at) + 1
        found.append(Include(line, match.group(1) or match.group(2), match.group(1) is not None))
    return found
