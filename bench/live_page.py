"""A page in a browser without a screen, by the protocol of its developer tools over a pair of pipes."""

import base64
import json
import os
import subprocess
import tempfile
import time

COMMAND = ("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
           "--disable-background-networking", "--remote-debugging-pipe")


class LivePage:
    def __init__(self, address, width=1200, height=900, is_dark=False):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        reads, self.to = os.pipe()
        self.back, writes = os.pipe()
        # It reads from 3 and writes to 4.
        self.process = subprocess.Popen(
            ["sh", "-c", f'exec "$@" 3<&{reads} 4>&{writes}', "sh", *COMMAND, f"--user-data-dir={self.profile.name}"],
            pass_fds=(reads, writes), stderr=subprocess.DEVNULL)
        os.close(reads)
        os.close(writes)
        self.received, self.calls, self.session, self.width = b"", 0, None, width
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=width < 600)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Page.navigate", url=address)
        while not self.evaluate("location.protocol === 'http:' && document.readyState === 'complete'"):
            time.sleep(0.02)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.profile.cleanup()

    def call(self, method, **parameters):
        self.calls += 1
        message = {"id": self.calls, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            text, end, rest = self.received.partition(b"\0")
            if not end:
                piece = os.read(self.back, 1 << 16)
                if not piece:
                    raise SystemExit("the browser ended")
                self.received += piece
                continue
            self.received = rest
            reply = json.loads(text)
            if reply.get("id") == self.calls:
                return reply.get("result", {})

    def evaluate(self, expression):
        """The value of an expression in the page, of a promise what comes of it; None when it threw."""
        reply = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        return None if "exceptionDetails" in reply else reply["result"].get("value")

    def when(self, condition):
        """When the condition became true in the page, in seconds since 1970."""
        return self.evaluate(f"""new Promise(done => {{
            const ask = () => ({condition}) ? done(Date.now() / 1000) : setTimeout(ask, 5);
            ask();
        }})""")

    def save_picture(self, path, height=3000):
        """Of the top of the page: a very long picture can take the browser down."""
        clip = {"x": 0, "y": 0, "width": self.width, "height": height, "scale": 1}
        picture = self.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        with open(path, "wb") as file:
            file.write(base64.b64decode(picture["data"]))
