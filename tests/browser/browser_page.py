"""A page in the browser: what a person does with it, by mouse and by keyboard, and what is looked at afterwards."""

from __future__ import annotations

import json
from base64 import b64decode
from pathlib import Path
from typing import Any

__all__ = ["AXE", "CHROMIUM", "Browser"]

CHROMIUM = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--force-device-scale-factor=1",
    "--proxy-server=127.0.0.1:9", "--proxy-bypass-list=127.0.0.1",
)  # fmt: skip
AXE = Path(__file__).with_name("axe.min.js")
SERIOUS = ("serious", "critical")


class Browser:
    """Chromium at the console of a daemon."""

    def __init__(self, driver: Any, pictures: Path) -> None:
        self.driver = driver
        self.pictures = pictures
        self.url = ""
        self._asked: list[str] = []
        self._errors: list[str] = []

    def go(self, path: str) -> None:
        self.driver.get(self.url + path)

    @property
    def path(self) -> str:
        return self.driver.current_url.removeprefix(self.url)

    @property
    def text(self) -> str:
        """What is shown below the menu."""
        return self.one("main").text

    def one(self, selector: str) -> Any:
        """The element that comes first; waits for it."""
        from selenium.webdriver.common.by import By

        return self.until(lambda: next(iter(self.driver.find_elements(By.CSS_SELECTOR, selector)), None), selector)

    def all(self, selector: str) -> list[Any]:
        from selenium.webdriver.common.by import By

        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def until(self, met: Any, what: str = "", seconds: float = 30) -> Any:
        """What a function returns once it returns something true."""
        from selenium.common.exceptions import StaleElementReferenceException
        from selenium.webdriver.support.ui import WebDriverWait

        waiting = WebDriverWait(self.driver, seconds, 0.05, [StaleElementReferenceException])
        return waiting.until(lambda _: met(), f"{what} on {self.driver.current_url}")

    def fill(self, selector: str, text: str) -> None:
        field = self.one(selector)
        field.clear()
        field.send_keys(text)

    def press(self, selector: str) -> None:
        """Click something that leads to another page, and wait for that."""
        target = self.one(selector)
        self.driver.execute_script("window.left = true")
        self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", target)
        target.click()
        arrived = "return !window.left && document.readyState === 'complete'"
        self.until(lambda: self.driver.execute_script(arrived), f"a page after {selector}")

    def keys(self, *keys: str) -> None:
        """Press keys wherever the focus is."""
        from selenium.webdriver.common.action_chains import ActionChains

        for key in keys:
            ActionChains(self.driver).send_keys(key).perform()

    def tab_to(self, selector: str, most: int = 80) -> None:
        """Go by the tabulator until the focus is there."""
        for _ in range(most):
            self.keys("\ue004")
            if self.driver.execute_script("return document.activeElement.matches(arguments[0])", selector):
                return
        raise AssertionError(f"{selector} is not reached by the keyboard on {self.path}")

    def violations(self) -> list[str]:
        """What axe-core finds on this page that is serious: rule and where."""
        self.driver.execute_script(AXE.read_text("utf-8"))
        found = self.driver.execute_async_script(
            "const done = arguments[0]; axe.run({resultTypes: ['violations']}).then(done)"
        )
        return [
            f"{one['id']}: {node['target']} {node['failureSummary']}"
            for one in found["violations"]
            if one["impact"] in SERIOUS
            for node in one["nodes"]
        ]

    def resize(self, width: int = 1200, height: int = 900) -> None:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def picture(self, name: str, width: int = 1200) -> Path:
        """A screenshot of the whole page at a width, as a file of the test run; the page stays so wide."""
        self.resize(width)
        if self.all("#drawing"):
            self.driver.execute_async_script("setTimeout(arguments[0], 200)")  # until the drawing fits again
        whole = self.driver.execute_script("return document.documentElement.scrollHeight")
        clip = {"x": 0, "y": 0, "width": width, "height": min(max(whole, 900), 4_000), "scale": 1}
        taken = self.driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
        path = self.pictures / f"{name}.png"
        path.write_bytes(b64decode(taken["data"]))
        return path

    def set_cookies(self, **cookies: str) -> None:
        for name, value in cookies.items():
            self.driver.execute_cdp_cmd("Network.setCookie", {"name": name, "value": value, "url": self.url})

    def too_wide(self) -> bool:
        """Whether the page has to be scrolled sideways."""
        return self.driver.execute_script("return document.documentElement.scrollWidth > window.innerWidth + 1")

    def forget_logs(self) -> None:
        self._read_logs()
        self._asked, self._errors = [], []

    def addresses(self) -> list[str]:
        """What the pages have asked for."""
        self._read_logs()
        return self._asked

    def errors(self) -> list[str]:
        """What went wrong in the pages: scripts, what the policy refused, addresses that answered badly."""
        self._read_logs()
        return self._errors

    def _read_logs(self) -> None:
        for entry in self.driver.get_log("performance"):
            said = json.loads(entry["message"])["message"]
            if said["method"] == "Network.requestWillBeSent":
                self._asked.append(said["params"]["request"]["url"])
        self._errors += [one["message"] for one in self.driver.get_log("browser") if one["level"] == "SEVERE"]
