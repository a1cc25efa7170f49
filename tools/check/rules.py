"""All rules, the quick ones first."""

from tools.check import (cycles, dependencies, format, generated, headers, layers, os_headers, primitives, sizes, tidy,
                         wording)

RULES = tuple(module.RULE for module in (layers, cycles, primitives, os_headers, sizes, wording, dependencies, format,
                                         generated, headers, tidy))
