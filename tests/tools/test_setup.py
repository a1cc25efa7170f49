"""The private `deb-src` entries derived from a machine's own apt sources."""

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
