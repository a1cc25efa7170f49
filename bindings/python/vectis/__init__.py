"""Vectis: accelerated computing on whatever device is there."""

from ._vectis import version

__version__ = version()
__all__ = ["__version__", "version"]
