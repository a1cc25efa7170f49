"""The server of the browser demo, and what it says where there is no browser."""

import json
import sys
import urllib.error
import urllib.request

import pytest

from tools import browser_demo


@pytest.fixture
def served(tmp_path):
    (tmp_path / "answers.json").write_text("{}")
    (tmp_path / "profile").mkdir()
    (tmp_path / "profile" / "secret").write_text("no")
    server, reports = browser_demo.serve(tmp_path)
    yield f"http://127.0.0.1:{server.server_port}/", reports
    server.shutdown()
    server.server_close()


def test_the_page_and_the_data_are_served_and_nothing_else(served):
    address, _ = served
    assert "search.js" in urllib.request.urlopen(address + "?report").read().decode()
    assert "requestAdapter" in urllib.request.urlopen(address + "search.js").read().decode()
    assert urllib.request.urlopen(address + "answers.json").read() == b"{}"
    for absent in ("profile/secret", "../tools/browser_demo.py", "nothing"):
        with pytest.raises(urllib.error.HTTPError):
            urllib.request.urlopen(address + absent)


def test_a_report_is_handed_on(served):
    address, reports = served
    request = urllib.request.Request(address + "report", data=json.dumps({"recall": 1}).encode())
    assert urllib.request.urlopen(request).status == 204
    assert reports.get(timeout=5) == {"recall": 1}


def test_only_equal_ids_and_distances_are_right():
    good = {"places": 200, "equal_ids": 200, "equal_distances": 200}
    assert browser_demo.right(good)
    assert not browser_demo.right(good | {"equal_ids": 199})
    assert not browser_demo.right(good | {"equal_distances": 199})
    assert not browser_demo.right({"places": 0, "equal_ids": 0, "equal_distances": 0})
    assert not browser_demo.right({"error": "this browser has no WebGPU adapter"})


def test_without_a_browser_it_is_skipped_and_says_so(monkeypatch, capsys):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(sys, "argv", ["browser_demo", "program"])
    assert browser_demo.main() == browser_demo.SKIPPED
    assert "skipped: chromium is not installed" in capsys.readouterr().out
