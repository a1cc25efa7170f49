"""Headers of the operating system are included only in src/base/os."""

import re

from tools.check.finding import Finding, Report, Rule
from tools.check.map import place_of
from tools.check.tree import Tree, is_test

NAME = "os-headers"
HOME = "src/base/os/"

_OS_HEADER = re.compile(
    r"""
      (?:sys|netinet|arpa|net|linux|asm|mach|mach-o|bits)/.+
    | (?:unistd|dlfcn|spawn|pthread|fcntl|signal|sched|poll|cpuid|dirent|fnmatch|glob|ftw|grp|pwd|link|elf|execinfo
        |ifaddrs|netdb|semaphore|syslog|termios|threads|ucontext|utime|wait|aio|mqueue|malloc|sysexits
        |windows|winsock2|ws2tcpip|io|process|direct|intrin|psapi|TargetConditionals)\.h
    | csignal
    """,
    re.VERBOSE,
)


def check(tree: Tree) -> Report:
    findings, files = [], [name for name in tree.code if _in_scope(name)]
    for name in files:
        for include in tree.includes(name):
            if not include.quoted and _OS_HEADER.fullmatch(include.target):
                findings.append(Finding(name, include.line, NAME, f"<{include.target}> outside {HOME}"))
    return Report(findings, f"{len(files)} files outside {HOME}")


def _in_scope(name: str) -> bool:
    return place_of(name).kind != "outside" and not is_test(name) and not name.startswith(HOME)


RULE = Rule(NAME, "OS headers only in src/base/os", "add what is needed to vectis::Os (vectis/base/os.hpp)", check)
