"""A headless Chromium for the tests: what it complained about, what it asked the network for, what
it looked like.
"""

from __future__ import annotations

import base64
import json
import shutil
from pathlib import Path
from urllib.parse import urlsplit

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

PICTURES = Path(__file__).parents[2] / "build" / "report"  # looked at by people; CI keeps them
AXE = Path(__file__).parents[1] / "report" / "vendor" / "axe.min.js"
PATIENCE = 120  # seconds, for a busy machine
DRAWN = (
    "return [...document.querySelectorAll('.chart')].every(c => !c.checkVisibility() || "
    "c.querySelector('svg'))"
)
FITS = "return document.documentElement.scrollWidth <= innerWidth"
TEXTS_OUTSIDE = """
const outside = [];
for (const svg of document.querySelectorAll('.chart svg')) {
  const frame = svg.closest('.card').getBoundingClientRect();
  for (const t of svg.querySelectorAll('text')) {
    const box = t.getBoundingClientRect();
    if (box.width && (box.left < frame.left - 1 || box.right > frame.right + 1)) outside.push(t.textContent);
  }
}
return outside;"""
SIZES = {"desk": (1280, 800), "phone": (390, 844)}


class Browser:
    """One window, opened anew for each page."""

    def __init__(self, downloads: Path) -> None:
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        for argument in (
            "headless=new",
            "no-sandbox",
            "disable-dev-shm-usage",
            "disable-gpu",
            "hide-scrollbars",
        ):
            options.add_argument(f"--{argument}")
        saving = {"download.default_directory": str(downloads)}
        saving["profile.default_content_setting_values.automatic_downloads"] = 1  # several in a row
        options.add_experimental_option("prefs", saving)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(
            options=options, service=Service(shutil.which("chromedriver"))
        )
        self.driver.set_script_timeout(PATIENCE)
        self.downloads = downloads

    def open(self, path: Path, *, size: str = "desk", dark: bool = False) -> None:
        """Show a file, and wait until its pictures are drawn."""
        width, height = SIZES[size]
        metrics = {
            "width": width,
            "height": height,
            "deviceScaleFactor": 1,
            "mobile": size == "phone",
        }
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"media": "", "features": [scheme]}
        )
        self.complaints()
        self.requests()
        self.driver.get(path.as_uri())
        self.wait("return document.documentElement.dataset.ready === 'yes'")
        self.wait(DRAWN)

    def unfold(self) -> None:
        """Open all parts that are folded, and wait until their pictures are drawn."""
        self.run("document.querySelectorAll('details.part').forEach(d => { d.open = true; })")
        self.wait(DRAWN)

    def wait(self, script: str, *values: object) -> None:
        WebDriverWait(self.driver, PATIENCE, poll_frequency=0.05).until(
            lambda driver: driver.execute_script(script, *values)
        )

    def complaints(self) -> list[str]:
        """What the console says since last asked, the policy's refusals among it."""
        return [f"{entry['level']}: {entry['message']}" for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """Whatever was asked for since last asked, but for files, data and blobs of the page's
        own.
        """
        messages = [
            json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")
        ]
        asked = [
            m["params"]["request"]["url"]
            for m in messages
            if m["method"] == "Network.requestWillBeSent"
        ]
        return [url for url in asked if urlsplit(url).scheme not in ("data", "blob", "about")]

    def all(self, selector: str) -> list:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector: str):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def texts(self, selector: str) -> list[str]:
        return self.run(
            "return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)", selector
        )

    def run(self, script: str, *values: object):
        return self.driver.execute_script(script, *values)

    def set(self, selector: str, value: object, event: str = "input") -> None:
        """Give an input a value as a person would, with the event that follows."""
        script = "const e = document.querySelector(arguments[0]); e.value = arguments[1]; "
        self.run(
            script + "e.dispatchEvent(new Event(arguments[2], {bubbles: true}))",
            selector,
            str(value),
            event,
        )

    def faults(self) -> list[str]:
        """What axe-core finds serious or critical."""
        self.run(AXE.read_text())
        # Of what passes, one element is described for each rule: to describe all takes long.
        find = (
            "axe.run({resultTypes: ['violations']}).then(found => arguments[0](found.violations))"
        )
        found = self.driver.execute_async_script(find)
        serious = [v for v in found if v["impact"] in ("serious", "critical")]
        return [f"{v['id']}: {v['help']}: {[n['target'] for n in v['nodes']]}" for v in serious]

    def downloaded(self, name: str) -> str:
        """The text of a file that a button saved."""
        path = self.downloads / name
        WebDriverWait(self.driver, PATIENCE, poll_frequency=0.05).until(
            lambda _: path.exists() and path.stat().st_size
        )
        text = path.read_bytes().decode()
        path.unlink()
        return text

    def picture(self, name: str) -> None:
        """Keep the whole page as it looks now."""
        PICTURES.mkdir(parents=True, exist_ok=True)
        width, height = self.run("return [innerWidth, document.documentElement.scrollHeight]")
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        shot = self.driver.execute_cdp_cmd(
            "Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip}
        )
        (PICTURES / f"{name}.png").write_bytes(base64.b64decode(shot["data"]))

    def view(self, name: str) -> None:
        """Keep what the window shows now, with what the pointer is over."""
        PICTURES.mkdir(parents=True, exist_ok=True)
        self.driver.save_screenshot(str(PICTURES / f"{name}.png"))

    def printed(self, name: str) -> int:
        """Keep the page as it prints; return how many bytes that takes."""
        PICTURES.mkdir(parents=True, exist_ok=True)
        pdf = self.driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
        return (PICTURES / f"{name}.pdf").write_bytes(base64.b64decode(pdf["data"]))
