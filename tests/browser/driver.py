"""A real browser for tests: Debian's chromium, driven over WebDriver by the standard library alone.

chromedriver answers JSON over HTTP on this machine; a session is a browser. What WebDriver does not know (the network
switched off, dark mode, scripts switched off) goes through Chromium's own protocol, which chromedriver passes on.
"""

from __future__ import annotations

import base64
import json
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
"""How WebDriver calls an element in JSON."""


def missing() -> str:
    """Why there is no browser here, or nothing."""
    gone = [name for name in ("chromium", "chromedriver") if not shutil.which(name)]
    return f"no {' and no '.join(gone)} (Debian: apt-get install chromium chromium-driver)" if gone else ""


class Browser:
    """One window of a headless Chromium that can reach nothing; close it in a `finally`."""

    def __init__(self) -> None:
        self._profile = tempfile.TemporaryDirectory(prefix="probe-browser-", ignore_cleanup_errors=True)
        self.downloads = Path(self._profile.name) / "downloads"
        self.downloads.mkdir()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self._root = f"http://127.0.0.1:{port}"
        self._driver = subprocess.Popen(
            ["chromedriver", f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            self._wait()
            self._session = self._open()
        except BaseException:
            self.close()
            raise
        self.offline()

    def _wait(self) -> None:
        for _ in range(100):
            try:
                with urllib.request.urlopen(f"{self._root}/status", timeout=5):
                    return
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.05)
        raise RuntimeError("chromedriver does not answer")

    def _open(self) -> str:
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
        arguments += [
            "--disable-background-networking",
            "--disable-dev-shm-usage",
            "--host-resolver-rules=MAP * ~NOTFOUND",
        ]
        arguments += [f"--user-data-dir={self._profile.name}/profile", "--window-size=1280,900", "--hide-scrollbars"]
        options = {
            "args": arguments,
            "binary": shutil.which("chromium"),
            "prefs": {
                "download.default_directory": str(self.downloads),
                "download.prompt_for_download": False,
                "profile.default_content_setting_values.automatic_downloads": 1,
            },
        }
        wanted = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        answer = self._call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}}, session="")
        return answer["sessionId"]

    def _call(self, method: str, path: str, body: Any = None, session: str | None = None) -> Any:
        where = f"/session/{self._session}" if session is None else session
        data = None if method in ("GET", "DELETE") else json.dumps(body or {}).encode()
        request = urllib.request.Request(f"{self._root}{where}{path}", data, {"Content-Type": "application/json"})
        request.method = method
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.load(error)["value"]["message"]) from None

    def close(self) -> None:
        """End the browser and its driver."""
        if getattr(self, "_session", ""):
            self._call("DELETE", "")
        self._driver.terminate()
        self._driver.wait(timeout=10)
        self._profile.cleanup()

    # -- what a test does ----------------------------------------------------------------------------------------

    def cdp(self, command: str, **parameters: Any) -> Any:
        """A command of Chromium's own protocol."""
        return self._call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def offline(self) -> None:
        """Switch the network off."""
        self.cdp("Network.enable")
        self.cdp("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=0, uploadThroughput=0)

    def open(self, path: Path) -> None:
        """Open a file from disk; returns when it has loaded."""
        self._call("POST", "/url", {"url": path.resolve().as_uri()})

    def run(self, script: str, *arguments: Any) -> Any:
        """Run a script in the page, as a function body."""
        return self._call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def console(self) -> list[str]:
        """What the console has said since it was last asked."""
        return [entry["message"] for entry in self._call("POST", "/se/log", {"type": "browser"})]

    def resize(self, width: int, height: int = 900, dark: bool = False) -> None:
        """Set the size of the page, which a window cannot fall below, and light or dark."""
        self.cdp(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500
        )
        theme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.cdp("Emulation.setEmulatedMedia", features=[theme])

    def move(self, x: float, y: float, click: bool = False) -> None:
        """Move the pointer to a point of the view, and click there."""
        steps = [{"type": "pointerMove", "duration": 0, "x": round(x), "y": round(y), "origin": "viewport"}]
        if click:
            steps += [{"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
        mouse = {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": steps}
        self._call("POST", "/actions", {"actions": [mouse]})

    def press(self, *keys: str) -> None:
        """Press keys, one after the other; the names of those that write nothing are WebDriver's code points."""
        steps = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self._call("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": steps}]})

    def screenshot(self, path: Path, whole: bool = False) -> None:
        """Save what is seen, or the whole page, as a PNG."""
        more = {}
        if whole:
            box = self.cdp("Page.getLayoutMetrics")["cssContentSize"]
            more = {"captureBeyondViewport": True, "clip": {"x": 0, "y": 0, **_sides(box), "scale": 1}}
        path.write_bytes(base64.b64decode(self.cdp("Page.captureScreenshot", format="png", **more)["data"]))


def _sides(box: dict[str, float]) -> dict[str, float]:
    return {"width": box["width"], "height": box["height"]}


UP, DOWN, LEFT, RIGHT, ESCAPE, ENTER = "\ue013", "\ue015", "\ue012", "\ue014", "\ue00c", "\ue007"
