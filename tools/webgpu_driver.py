"""The path of wgpu-native in build/venv, and the environment that selects Mesa's software drivers."""

import glob
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LAVAPIPE = "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json"


def library() -> str:
    found = glob.glob(str(ROOT / "build/venv/lib/python3*/site-packages/wgpu/resources/libwgpu_native*"))
    if not found:
        raise SystemExit("wgpu-native is not in build/venv: run ./dev setup")
    return found[0]


def environment(interface: str = "vulkan") -> dict[str, str]:
    """`vulkan` selects lavapipe only; `gl` hides every Vulkan driver, so that OpenGL is used."""
    return {"VECTIS_BACKENDS_WEBGPU_LIBRARY": library(), "LIBGL_ALWAYS_SOFTWARE": "1", "XDG_RUNTIME_DIR": "/tmp",
            "VK_DRIVER_FILES": LAVAPIPE if interface == "vulkan" else "/nowhere.json"}
