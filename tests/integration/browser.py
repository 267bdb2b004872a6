"""Drives Debian's Chromium without a window, by the DevTools protocol over a pair of pipes: no port, no driver."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile

FOUND = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Browser:
    """One page. `size` is that of the page itself."""

    def __init__(self, size=(1280, 800), dark=False):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        from_us, self.requests = os.pipe()
        self.answers, to_us = os.pipe()
        flags = ["--headless=new", "--remote-debugging-pipe", "--disable-gpu", "--no-first-run", "--hide-scrollbars",
                 "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
                 f"--user-data-dir={self.profile.name}"]
        if os.geteuid() == 0:
            flags.append("--no-sandbox")
        # Chromium reads from descriptor 3 and writes to 4. Descriptors above 9 are nothing that every sh can redirect.
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{from_us} 4>&{to_us}', "bash", FOUND, *flags, "about:blank"],
            pass_fds=(from_us, to_us), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(from_us)
        os.close(to_us)
        self.unread, self.number, self.session, self.events = b"", 0, None, []
        targets = self.call("Target.getTargets")["targetInfos"]
        target = next(target["targetId"] for target in targets if target["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        # Regardless of the window, which headless mode makes lower than it was asked for.
        self.call("Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=1,
                  mobile=False)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Page.enable")
        self.call("Runtime.enable")
        self.call("Log.enable")
        self.call("Network.enable")

    def close(self):
        os.close(self.requests)
        os.close(self.answers)
        self.process.terminate()
        self.process.wait(30)
        self.profile.cleanup()

    def call(self, method, **parameters):
        """Returns the result. Events that arrive before it are kept in `events`."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session is not None:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.requests, data):]
        while True:
            answer = self.read()
            if answer.get("id") != self.number:
                self.events.append(answer)
            elif "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']}")
            else:
                return answer["result"]

    def read(self):
        while b"\0" not in self.unread:
            if not select.select([self.answers], [], [], 60)[0]:
                raise RuntimeError("the browser does not answer")
            part = os.read(self.answers, 1 << 20)
            if not part:
                raise RuntimeError(f"the browser ended with status {self.process.wait(30)}")
            self.unread += part
        message, self.unread = self.unread.split(b"\0", 1)
        return json.loads(message)

    def open(self, path):
        """Opens a file, or an address, and waits until its scripts have run."""
        self.events.clear()
        address = path if "://" in str(path) else "file://" + os.path.abspath(path)
        self.call("Page.navigate", url=address)
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.events.append(self.read())
        if not self.evaluate(f"document.readyState === 'complete' && location.protocol === '{address.split('/')[0]}'"):
            raise RuntimeError(f"{path} was not loaded")

    def evaluate(self, expression):
        """The value of a JavaScript expression; promises are awaited."""
        result = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"].get("exception", {}).get("description", str(result)))
        return result["result"].get("value")

    def frame(self):
        """Waits until a frame has been shown."""
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def problems(self):
        """Texts of exceptions, errors and refused requests since the page was opened."""
        problems = []
        for event in self.events:
            parameters = event.get("params", {})
            if event["method"] == "Runtime.exceptionThrown":
                details = parameters["exceptionDetails"]
                problems.append(details.get("exception", {}).get("description", details["text"]))
            elif event["method"] == "Log.entryAdded" and parameters["entry"]["level"] == "error":
                problems.append(parameters["entry"]["text"])
        return problems

    def requests_of_network(self):
        """Addresses of everything that was requested but the page itself."""
        urls = [event["params"]["request"]["url"] for event in self.events
                if event.get("method") == "Network.requestWillBeSent"]
        return [url for url in urls if not url.startswith("file://")] + urls[1:]

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y):
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
        self.mouse("mouseReleased", x, y, button="left", buttons=0, clickCount=1)
        self.frame()

    def drag(self, start, end, steps=10):
        (x, y), (to_x, to_y) = start, end
        self.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
        for step in range(1, steps + 1):
            self.mouse("mouseMoved", x + (to_x - x) * step / steps, y + (to_y - y) * step / steps, buttons=1)
        self.mouse("mouseReleased", to_x, to_y, button="left", buttons=0, clickCount=1)
        self.frame()

    def wheel(self, x, y, delta):
        self.mouse("mouseWheel", x, y, deltaX=0, deltaY=delta)
        self.frame()

    def key(self, key, code=0, text="", modifiers=0):
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, text=text, windowsVirtualKeyCode=code,
                  modifiers=modifiers)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code, modifiers=modifiers)
        self.frame()

    def enter(self, modifiers=0):
        self.key("Enter", 13, "\r", modifiers)

    def type(self, text):
        self.call("Input.insertText", text=text)
        self.frame()

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))
