"""Kernels on arrays: custom ones, compiled at run time, and the named operations, which every device runs.

    x = np.arange(8, dtype=np.float32)
    y = np.empty_like(x)
    square = vectis.kernel.Kernel(
        "square", "uint i = GLOBAL_ID(0); if (i < count) { STORE_y(i, LOAD_x(i) * LOAD_x(i)); }",
        buffers={"x": "float32:read", "y": "float32:write"}, scalars={"count": "uint32"}, device="opencl")
    square.launch(x.size, x, y, x.size)
"""

from ._vectis import DeviceArray, Kernel, Operation, empty, operations, run, to_device

__all__ = ["DeviceArray", "Kernel", "Operation", "empty", "operations", "run", "to_device"]
