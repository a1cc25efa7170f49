"""The private `deb-src` entries derived from a machine's own apt sources, and the packages of `./dev setup --user`."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tools.setup.apt_source import source_entries, write_private_sources
from tools.setup.archive import archive_of


def test_one_line_entries_keep_their_options_and_drop_comments():
    text = ("# deb http://a/debian old main\n"
            "deb [signed-by=/k.gpg] http://a/debian bookworm main contrib # note\n"
            "deb-src http://a/debian bookworm main\n")
    assert source_entries(text, deb822=False) == ["deb-src [signed-by=/k.gpg] http://a/debian bookworm main contrib"]


def test_deb822_entries_become_sources():
    text = ("Types: deb\n# comment\nURIs: http://a/debian\nSuites: bookworm bookworm-updates\nComponents: main\n"
            "Signed-By:\n -----BEGIN\n .\n key\n\n\nTypes: deb-src\nURIs: http://b\nSuites: x\n\n"
            "Types: deb\nEnabled: no\nURIs: http://c\nSuites: y\n")
    entries = source_entries(text, deb822=True)
    assert len(entries) == 1
    assert entries[0].splitlines()[0] == "Types: deb-src"
    assert "Uris: http://a/debian" in entries[0]
    assert entries[0].endswith("Signed-by: \n -----BEGIN\n .\n key")


def test_private_folder_holds_only_the_twins(tmp_path):
    etc = tmp_path / "etc"
    (etc / "sources.list.d").mkdir(parents=True)
    (etc / "sources.list").write_text("deb http://a/debian bookworm main\n")
    (etc / "sources.list.d" / "b.sources").write_text("Types: deb\nURIs: http://b\nSuites: s\nComponents: main\n")
    (etc / "sources.list.d" / "c.list.disabled").write_text("deb http://c x main\n")
    options = write_private_sources(etc, tmp_path / "apt")
    parts = tmp_path / "apt" / "sources.list.d"
    assert (parts / "machine.list").read_text() == "deb-src http://a/debian bookworm main\n"
    assert (parts / "machine.sources").read_text() == "Types: deb-src\nUris: http://b\nSuites: s\nComponents: main\n"
    assert f"Dir::Etc::sourceparts={parts}" in options


def test_archive_is_that_of_the_machines_own_release():
    targets = "http://x/extra|stable|main\nhttp://a/debian|bookworm|contrib\nhttp://a/debian|bookworm|main\n"
    assert archive_of(targets, "bookworm") == "http://a/debian"
    assert archive_of(targets, "trixie") is None


ROOT = Path(__file__).resolve().parents[2]
LISTS = sorted((ROOT / "tools/setup/user").glob("*.txt"))


def _packages(file: Path) -> set[str]:
    lines = [line.split("#")[0].strip() for line in file.read_text().splitlines()]
    return {line for line in lines if line}


def _setup_user(folder: Path, release: str) -> subprocess.CompletedProcess[str]:
    """Runs packages.sh --user on a system with that os-release, where no package but the first of the list is installed."""
    (folder / "os-release").write_text(release)
    query = folder / "dpkg-query"
    query.write_text('#!/bin/sh\nfor last; do :; done\n[ "$last" != gcc-12 ] || echo installed\n')
    query.chmod(0o755)
    apt = folder / "apt-get"
    apt.write_text('#!/bin/sh\necho apt-get "$@"\n')
    apt.chmod(0o755)
    settings = {"PATH": f"{folder}:{os.environ['PATH']}", "VECTIS_OS_RELEASE": str(folder / "os-release")}
    return subprocess.run(["bash", ROOT / "tools/setup/packages.sh", "--user"], env=os.environ | settings,
                          capture_output=True, text=True, check=False)


def test_users_install_a_part_of_what_developers_install():
    assert [file.name for file in LISTS] == ["debian-12.txt", "ubuntu-22.04.txt", "ubuntu-24.04.txt"]
    everything = _packages(ROOT / "tools/packages.txt")
    debian = _packages(ROOT / "tools/setup/user/debian-12.txt")
    assert debian < everything
    assert not debian & {"clang-19", "chromium", "valgrind", "libgtest-dev", "pocl-opencl-icd", "hipcc"}
    for file in LISTS:
        assert _packages(file) <= debian, file.name
        assert file.read_text().startswith("# Untested.") == (file.name != "debian-12.txt")


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize("release, file", [("ID=debian\nVERSION_ID=\"12\"\n", "debian-12.txt"),
                                           ("ID=ubuntu\nVERSION_ID=\"24.04\"\n", "ubuntu-24.04.txt")])
def test_the_list_of_the_system_is_installed(tmp_path, release, file):
    done = _setup_user(tmp_path, release)
    said = done.stdout + done.stderr
    for package in _packages(ROOT / "tools/setup/user" / file) - {"gcc-12"}:
        assert package in said.split(), said
    assert "gcc-12" not in said.split()
    assert ("untested" in said) == (file != "debian-12.txt")


def test_an_unknown_system_is_told_what_corresponds(tmp_path):
    done = _setup_user(tmp_path, "ID=gentoo\n")
    assert done.returncode == 1
    assert "no list of packages for gentoo-unknown" in done.stderr
    assert "tools/setup/user/debian-12.txt" in done.stderr
