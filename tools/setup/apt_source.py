"""Fetches the source of a Debian package with the machine's own apt, without changing the machine.

The binary sources that apt already knows are copied as `deb-src` entries into a private folder, with lists of its own.
"""

import os
import subprocess
from pathlib import Path


def source_entries(text: str, deb822: bool) -> list[str]:
    """The `deb-src` counterpart of each entry of one sources file."""
    return _deb822_entries(text) if deb822 else _one_line_entries(text)


def _one_line_entries(text: str) -> list[str]:
    lines = (line.split("#", 1)[0].strip() for line in text.splitlines())
    return ["deb-src " + line.split(None, 1)[1] for line in lines if line.startswith(("deb ", "deb\t"))]


def _deb822_entries(text: str) -> list[str]:
    entries = []
    for paragraph in _paragraphs(text):
        fields = _fields(paragraph)
        if "deb" not in fields.get("types", "").split() or fields.get("enabled", "yes").lower() in ("no", "false"):
            continue
        fields["types"] = "deb-src"
        entries.append("\n".join(f"{name.capitalize()}: {value}" for name, value in fields.items()))
    return entries


def _paragraphs(text: str) -> list[list[str]]:
    paragraphs: list[list[str]] = [[]]
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        if line.strip():
            paragraphs[-1].append(line)
        elif paragraphs[-1]:
            paragraphs.append([])
    return [paragraph for paragraph in paragraphs if paragraph]


def _fields(paragraph: list[str]) -> dict[str, str]:
    fields: dict[str, str] = {}
    name = ""
    for line in paragraph:
        if line[0] in " \t":
            fields[name] += "\n" + line
        else:
            name, _, value = line.partition(":")
            name = name.lower()
            fields[name] = value.strip()
    return fields


def write_private_sources(etc: Path, folder: Path) -> list[str]:
    """Writes the `deb-src` counterparts of `etc` to `folder` and returns apt options that use only them."""
    parts, lists = folder / "sources.list.d", folder / "lists"
    for made in (parts, lists / "partial"):
        made.mkdir(parents=True, exist_ok=True)
    one_line, deb822 = [], []
    for file in [etc / "sources.list", *sorted((etc / "sources.list.d").glob("*"))]:
        if file.suffix in (".list", ".sources") and file.is_file():
            is_deb822 = file.suffix == ".sources"
            (deb822 if is_deb822 else one_line).extend(source_entries(file.read_text(), is_deb822))
    (parts / "machine.list").write_text("".join(entry + "\n" for entry in one_line))
    (parts / "machine.sources").write_text("\n\n".join(deb822) + "\n")
    settings = ("Dir::Etc::sourcelist=-", f"Dir::Etc::sourceparts={parts}", f"Dir::State::lists={lists}",
                "Dir::Cache::pkgcache=", "Dir::Cache::srcpkgcache=", "APT::Sandbox::User=root")
    return [word for setting in settings for word in ("-o", setting)]


def fetch_source(package: str, version: str, target: Path, folder: Path) -> Path:
    """Unpacks the source of `package` below `target` and returns its folder.

    An archive that no longer holds `version` gives the one it has.
    """
    options = write_private_sources(Path("/etc/apt"), folder)
    # Third-party archives may offer no sources, so failures are ignored here; `apt-get source` reports them.
    subprocess.run(["apt-get", "-q", *options, "update"], check=False)
    target.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "DPKG_COLORS": "never"}
    fetch = ["apt-get", "-q", *options, "source"]
    if subprocess.run([*fetch, f"{package}={version}"], check=False, cwd=target, env=environment).returncode != 0:
        subprocess.run([*fetch, package], check=True, cwd=target, env=environment)
    return next(path for path in sorted(target.iterdir()) if path.is_dir())
