"""Vector search and accelerated computing on whatever device is there: NVIDIA, AMD, Intel and Apple GPUs, or the CPU.

    import numpy as np
    import vectis

    index = vectis.Index(dim=128)
    index.add(np.random.default_rng(1).random((10_000, 128), dtype=np.float32))
    ids, distances = index.search(np.zeros(128, np.float32), k=5)
"""

from ._vectis import (
    CancelSource,
    Collection,
    CollectionMetadata,
    IdFilter,
    Index,
    IndexStatistics,
    SearchExplanation,
    SearchResult,
    VectorStore,
    get_threads,
    set_threads,
    version,
)
from .errors import (
    AllocationError,
    BackendCreationError,
    CancelledError,
    CompileFailedError,
    CorruptDataError,
    DeadlineExceededError,
    DeviceLostError,
    DriverFailureError,
    Error,
    ForkedError,
    InvalidInputError,
    IoError,
    NoCompilerError,
    UnsupportedBackendError,
    UnsupportedError,
)

__version__ = version()
