"""The page of examples/browser: served on loopback and run in a headless chromium.

    python3 -m tools.browser_demo build/release/bin/example_browser            # runs it and prints the result
    python3 -m tools.browser_demo build/release/bin/example_browser --serve    # for a browser of your own
"""

import argparse
import base64
import functools
import http.server
import json
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "examples" / "browser"
SKIPPED = 77  # the exit status CTest treats as skipped
SECONDS = 120


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves the page and the data of one folder, and receives the report of the page."""

    extensions_map = http.server.SimpleHTTPRequestHandler.extensions_map | {".wgsl": "text/plain; charset=utf-8"}

    def __init__(self, *arguments, reports: queue.Queue, **named):
        self.reports = reports
        super().__init__(*arguments, **named)

    def translate_path(self, path: str) -> str:
        name = Path(path.split("?")[0]).name or "index.html"
        return str((PAGE if (PAGE / name).is_file() else Path(self.directory)) / name)

    def do_POST(self) -> None:
        self.reports.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_) -> None:
        pass


class Chromium:
    """A headless browser, controlled through its debugging pipe; messages end with a zero byte."""

    def __init__(self, program: str, profile: Path):
        to_browser, self.write_end = os.pipe()
        self.read_end, from_browser = os.pipe()
        words = [program, "--headless=new", "--no-sandbox", "--enable-unsafe-webgpu", "--disable-gpu-sandbox",
                 "--no-first-run", "--window-size=900,900", f"--user-data-dir={profile}", "--remote-debugging-pipe"]
        # The browser expects the pipe at file descriptors 3 and 4.
        shell = f'exec "$@" 3<&{to_browser} 4>&{from_browser}'
        self.process = subprocess.Popen(["bash", "-c", shell, "bash", *words], pass_fds=(to_browser, from_browser),
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.received, self.last = b"", 0

    def ask(self, method: str, session: str | None = None, **parameters) -> dict:
        self.last += 1
        message = {"id": self.last, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self.write_end, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self.received:
                part = os.read(self.read_end, 1 << 20)
                if not part:
                    raise SystemExit("chromium exited unexpectedly")
                self.received += part
            text, self.received = self.received.split(b"\0", 1)
            answer = json.loads(text)
            if answer.get("id") == self.last:
                if "error" in answer:
                    raise SystemExit(f"chromium refuses {method}: {answer['error']}")
                return answer["result"]

    def open(self, address: str) -> str:
        target = self.ask("Target.createTarget", url=address)["targetId"]
        return self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def picture(self, session: str, file: Path) -> None:
        image = self.ask("Page.captureScreenshot", session, format="png", captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(image["data"]))

    def close(self) -> None:
        os.close(self.write_end)  # the browser exits when its pipe is closed
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.read_end)


def serve(folder: Path, port: int = 0) -> tuple[http.server.ThreadingHTTPServer, queue.Queue]:
    reports: queue.Queue = queue.Queue()
    handler = functools.partial(Handler, directory=str(folder), reports=reports)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, reports


def browser() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def run(data_program: Path, screenshot: Path | None = None) -> dict:
    """What the page reports: `recall`, `equal_ids` of `places`, `milliseconds`, `adapter`; or `error`."""
    with tempfile.TemporaryDirectory(prefix="vectis-browser-", ignore_cleanup_errors=True) as folder:
        subprocess.run([str(data_program), folder], check=True, stdout=subprocess.DEVNULL)
        server, reports = serve(Path(folder))
        chromium = Chromium(browser(), Path(folder) / "profile")
        try:
            session = chromium.open(f"http://127.0.0.1:{server.server_port}/?report")
            try:
                result = reports.get(timeout=SECONDS)
            except queue.Empty:
                result = {"error": f"the page sent no report within {SECONDS} seconds"}
            if screenshot:
                chromium.picture(session, screenshot)
        finally:
            chromium.close()
            server.shutdown()
            server.server_close()
    return result


def right(result: dict) -> bool:
    return "error" not in result and result["places"] == result["equal_ids"] == result["equal_distances"] > 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path, help="example_browser, which writes the data")
    parser.add_argument("--screenshot", type=Path)
    parser.add_argument("--serve", action="store_true", help="do not run a browser: print the address and wait")
    options = parser.parse_args()
    if options.serve:
        with tempfile.TemporaryDirectory(prefix="vectis-browser-") as folder:
            subprocess.run([str(options.program), folder], check=True)
            server, _ = serve(Path(folder))
            print(f"http://127.0.0.1:{server.server_port}/ (ends with Ctrl-C)", flush=True)
            try:
                threading.Event().wait()
            except KeyboardInterrupt:
                server.shutdown()
        return 0
    if browser() is None:
        print("skipped: chromium is not installed; Debian: apt-get install chromium")
        return SKIPPED
    result = run(options.program, options.screenshot)
    print(json.dumps(result))
    return 0 if right(result) else 1


if __name__ == "__main__":
    sys.exit(main())
