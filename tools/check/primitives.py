"""Threads, condition variables, sleeps and clocks live in `base`; all other layers wait on an Executor."""

import re

from tools.check.finding import Finding, Report, Rule
from tools.check.map import place_of
from tools.check.tree import Tree, is_test, line_of

NAME = "primitives"

_FORBIDDEN = re.compile(
    r"""
      \bstd\s*::\s*(?:jthread|async|condition_variable(?:_any)?|packaged_task)\b
    | \bstd\s*::\s*thread\b(?!\s*::\s*id\b)
    | \b(?:this_thread\s*::\s*)?sleep_(?:for|until)\b
    | \b(?:steady|system|high_resolution|utc|file|tai|gps)_clock\b
    | \bwait_(?:for|until)\b
    | \btry_(?:lock|acquire)(?:_shared)?_(?:for|until)\b
    | \b(?:recursive_|shared_)?timed_mutex\b
    | \btick_count\b
    | \b(?:pthread_create|pthread_cond_\w+|thrd_\w+|cnd_\w+|nanosleep|clock_nanosleep|usleep|clock_gettime|gettimeofday
         |timespec_get|SleepEx|CreateThread)\b
    | (?<![\w.>:])(?:::)?(?:sleep|clock|time)\s*\(\s*(?:\d+|NULL|nullptr|0|)\s*\)
    """,
    re.VERBOSE,
)


def in_scope(name: str) -> bool:
    place = place_of(name)
    if is_test(name) or (place.kind == "backend" and place.name != "cpu"):
        return False
    return place.kind in ("layer", "unknown", "backend") and place.name != "base"


def check(tree: Tree) -> Report:
    findings, files = [], [name for name in tree.code if in_scope(name)]
    for name in files:
        code = tree.bare_code(name)
        for match in _FORBIDDEN.finditer(code):
            text = re.sub(r"\s+", "", match.group())
            findings.append(Finding(name, line_of(code, match.start()), NAME,
                                    f"{text} outside base; wait on an Executor and ask it for the time"))
        for include in tree.includes(name):
            if include.target == "condition_variable":
                findings.append(Finding(name, include.line, NAME, "<condition_variable> outside base"))
    return Report(findings, f"{len(files)} files outside base")


RULE = Rule(NAME, "threads, condition variables, sleeps and clocks only in base",
            "use vectis::Executor (post, post_after, now, parallel_for)", check)
