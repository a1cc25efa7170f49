"""All rules, the quick ones first."""

from tools.check import (cycles, dependencies, format, generated, glossary, headers, layers, os_headers, primitives,
                         sizes, terms, tidy, wording)

RULES = tuple(module.RULE for module in (layers, cycles, primitives, os_headers, sizes, wording, terms, glossary,
                                         dependencies, format, generated, headers, tidy))
