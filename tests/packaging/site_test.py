#!/usr/bin/env python3
"""The site of the documents (packaging/site.sh): no link or anchor in it is dead, nothing in it comes from elsewhere, and
in Chromium its pages fit a desktop and a phone, dark and light, and are searched. Exits 77, with the reason, where what
makes the site is not installed.

  site_test.py --target DIR [unittest's arguments]       DIR is made anew
"""

import argparse
import functools
import html.parser
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/integration"))
import browser  # noqa: E402

ARGS = None
# Attributes by which a page loads something itself. A link to another site is what only its reader follows.
LOADED = {("script", "src"), ("link", "href"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("object", "data")}
IN_STYLE = re.compile(r"@import\s+[\"']([^\"']+)|url\(\s*[\"']?([^\"')]+)")
PAGES = ["index.html", "host/docs/application-guide.html", "host/docs/configuration-reference.html",
         "host/docs/architecture.html", "host/docs/troubleshooting.html", "sdk/index.html",
         "reference/host/index.html", "reference/host/classdeputy_1_1Session.html",
         "reference/sdk/structdeputy__delegate.html"]  # fmt: skip


class Page(html.parser.HTMLParser):
    """What a page links to and loads, and the names that links to it may use."""

    def __init__(self, path):
        super().__init__()
        self.links, self.loaded, self.anchors, self.style = [], [], set(), False
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        self.style = tag == "style"
        for name, value in attrs:
            if name == "id" or (name == "name" and tag == "a"):
                self.anchors.add(value)
            elif name == "style" and value:
                self.loaded += addresses_of_style(value)
            elif (tag, name) in LOADED:
                self.loaded.append(value)
            elif (tag, name) in {("a", "href"), ("area", "href")}:
                self.links.append(value)

    def handle_data(self, data):
        if self.style:
            self.loaded += addresses_of_style(data)


def addresses_of_style(text):
    return [first or second for first, second in IN_STYLE.findall(text)]


def check(site):
    """What is wrong with the pages and the styles of a folder, and how many links they have."""
    wrong, links = [], 0
    pages = {path.relative_to(site).as_posix(): Page(path) for path in sorted(site.rglob("*.html"))}
    loaded = {name: page.loaded for name, page in pages.items()}
    for path in sorted(site.rglob("*.css")):
        loaded[path.relative_to(site).as_posix()] = addresses_of_style(path.read_text(encoding="utf-8"))

    def target(name, address):
        """The file that an address of a page names, and the anchor."""
        parts = urlsplit(address)
        path = os.path.normpath(os.path.join(os.path.dirname(name), unquote(parts.path))) if parts.path else name
        return (f"{path}/index.html" if (site / path).is_dir() else path), unquote(parts.fragment)

    for name, addresses in loaded.items():
        for address in addresses:
            if address.startswith(("data:", "javascript:", "#")):
                continue
            if urlsplit(address).scheme or address.startswith("/"):
                wrong.append(f"{name}: loads {address}, which is elsewhere")
            elif not (site / target(name, address)[0]).is_file():
                wrong.append(f"{name}: loads {address}, which is not there")
    for name, page in pages.items():
        for address in page.links:
            if urlsplit(address).scheme in ("http", "https", "mailto", "javascript"):
                continue
            links += 1
            path, anchor = target(name, address)
            if address.startswith("/") or path.startswith("..") or not (site / path).is_file():
                wrong.append(f"{name}: a link to {address}, which is not there")
            elif anchor and path in pages and anchor not in pages[path].anchors:
                wrong.append(f"{name}: a link to {address}, an anchor that is not there")
    return wrong, links


class Built(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.site = ARGS.target
        made = subprocess.run([ROOT / "packaging/site/build.py", cls.site], capture_output=True, text=True)
        if made.returncode != 0:
            raise AssertionError(made.stdout + made.stderr)

    def test_NoLinkIsDeadAndNothingIsLoadedFromElsewhere(self):
        wrong, links = check(self.site)
        self.assertEqual(wrong, [])
        self.assertGreater(links, 10000)

    def test_EveryDocumentIsAPage(self):
        listed = subprocess.run(["git", "-C", ROOT, "ls-files", "*.md"], capture_output=True, text=True, check=True)
        for name in listed.stdout.split():
            if not name.startswith("sdk/template/"):
                page = re.sub(r"README\.html$", "index.html", name.replace(".github/", "project/")[:-2] + "html")
                self.assertTrue((self.site / page).is_file(), page)

    def test_TheSearchKnowsThePages(self):
        found = json.loads((self.site / "search/search_index.json").read_text(encoding="utf-8"))["docs"]
        places = {entry["location"] for entry in found if "on_failure" in entry["text"]}
        self.assertIn("host/docs/configuration-reference.html#delegates", places)
        for entry in found:
            self.assertTrue((self.site / (entry["location"].split("#")[0] or "index.html")).is_file(), entry["location"])


class Planted(unittest.TestCase):
    """What build.py refuses, and `check` finds."""

    def refused(self, text):
        """Of a copy of the tree with one more document; nothing is built of it."""
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, text=True, check=True)
            for name in listed.stdout.split("\0")[:-1]:
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                if (ROOT / name).exists():
                    shutil.copy(ROOT / name, root / name)
            subprocess.run(["git", "init", "--quiet", root], check=True)
            (root / "host/docs/planted.md").write_text(text, encoding="utf-8")
            made = subprocess.run([root / "packaging/site/build.py", root / "built"], capture_output=True, text=True)
            self.assertEqual(made.returncode, 1, made.stdout)
            return made.stderr

    def test_ALinkToAFileThatIsAbsentIsRefused(self):
        self.assertEqual("host/docs/planted.md: a link to absent.md, which is not there\n", self.refused("[x](absent.md)\n"))

    def test_ADocumentWithoutAPlaceIsRefused(self):
        self.assertEqual("build.py: packaging/site/mkdocs.yml does not name host/docs/planted.md\n", self.refused("# X\n"))

    def found(self, text, style=""):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "page.html").write_text(text, encoding="utf-8")
            Path(folder, "other.html").write_text('<h1 id="here">x</h1><a name="there"></a>', encoding="utf-8")
            Path(folder, "style.css").write_text(style, encoding="utf-8")
            return check(Path(folder))[0]

    def test_WhatIsThereIsAccepted(self):
        self.assertEqual(self.found('<a href="other.html#here">x</a><a href="other.html#there">x</a><a href="#me" id="me">x</a>'
                                    '<a href="https://example.com">x</a><link rel="stylesheet" href="style.css">',
                                    "a {background: url(data:image/png;base64,AAAA)}"), [])  # fmt: skip

    def test_DeadLinksAreFound(self):
        for address in ("absent.html", "other.html#absent", "#absent", "../page.html", "/page.html"):
            with self.subTest(address):
                self.assertEqual(len(self.found(f'<a href="{address}">x</a>')), 1)

    def test_WhatIsLoadedFromElsewhereIsFound(self):
        for text in ('<script src="https://cdn.example/x.js"></script>', '<link rel="preconnect" href="//fonts.example">',
                     '<img src="http://example.com/x.png">', '<img src="absent.png">',
                     "<style>@import 'https://fonts.example/x.css';</style>",
                     '<p style="background: url(https://example.com/x.png)">x</p>'):  # fmt: skip
            with self.subTest(text):
                self.assertEqual(len(self.found(text)), 1)
        self.assertEqual(len(self.found("", "@font-face {src: url('https://fonts.example/x.woff')}")), 1)


class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *_):
        """The browser has closed a connection before its file was sent."""


@unittest.skipUnless(browser.FOUND, "no Chromium; packaging/install-deps.sh test installs it")
class InABrowser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(("127.0.0.1", 0), functools.partial(Handler, directory=ARGS.target))
        cls.address = f"http://127.0.0.1:{cls.server.server_port}/"
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()
        cls.addClassCleanup(cls.server.server_close)
        cls.addClassCleanup(cls.server.shutdown)

    def opened(self, size, dark=False):
        page = browser.Browser(size, dark)
        self.addCleanup(page.close)
        return page

    def test_PagesFitAndLoadNothingFromElsewhere(self):
        for size in ((1280, 900), (390, 844)):
            page = self.opened(size)
            for name in PAGES:
                with self.subTest(name, width=size[0]):
                    page.open(self.address + name)
                    page.frame()
                    self.assertEqual(page.problems(), [])
                    self.assertLessEqual(page.evaluate("document.scrollingElement.scrollWidth"), size[0])
                    requests = [url for url in page.requests_of_network() if not url.startswith(("data:", "blob:"))]
                    self.assertEqual([url for url in requests if not url.startswith(self.address)], [])

    def test_TextAndItsGroundDiffer(self):
        """Of a paragraph and of code, where a browser asks for dark colours and where it does not."""
        light = """(element => {
          const channels = text => text.match(/[\\d.]+/g).map(Number);
          const light = ([red, green, blue]) => 0.3 * red + 0.6 * green + 0.1 * blue;
          let ground = element;
          while (ground && channels(getComputedStyle(ground).backgroundColor)[3] === 0) ground = ground.parentElement;
          return [light(channels(getComputedStyle(element).color)),
                  ground ? light(channels(getComputedStyle(ground).backgroundColor)) : 255];
        })"""
        for dark in (False, True):
            page = self.opened((1280, 900), dark)
            for name, element in (("index.html", "article p"), ("index.html", "article pre code"),
                                  ("reference/host/classdeputy_1_1Session.html", ".textblock p, .memdoc"),
                                  ("reference/host/classdeputy_1_1Session.html", ".memproto"),
                                  ("reference/host/files.html", "table.directory td.desc")):  # fmt: skip
                with self.subTest(name, element=element, dark=dark):
                    page.open(self.address + name)
                    text, ground = page.evaluate(f"{light}(document.querySelector({json.dumps(element)}))")
                    self.assertGreater(text - ground if dark else ground - text, 90)

    def test_TheSearchFinds(self):
        page = self.opened((1280, 900))
        # What is typed before the page's scripts listen is lost.
        for seconds in (2, 5, 10, 20, 40):
            page.open(self.address + "index.html")
            page.evaluate(f"new Promise(done => setTimeout(done, {seconds * 250}))")
            page.evaluate("document.querySelector('.md-search__input').focus()")
            page.type("on_failure")
            found = page.evaluate("""new Promise(done => {
              const link = () => document.querySelector('.md-search-result__link');
              const timer = setInterval(() => link() && done(link().href), 100);
              setTimeout(() => { clearInterval(timer); done(''); }, %d);
            })""" % (seconds * 1000))
            if found:
                break
        self.assertTrue(found.startswith(self.address + "host/docs/"), found)


def missing():
    """What the site needs and this machine lacks."""
    for program in ("git", "doxygen", "mkdocs"):
        if not shutil.which(program):
            return program
    themes = subprocess.run(["mkdocs", "build", "--help"], capture_output=True, text=True).stdout
    return None if "material" in themes else "mkdocs-material"


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", type=Path, required=True)
    ARGS, rest = parser.parse_known_args()
    ARGS.target = ARGS.target.resolve()
    if missing():
        print(f"skipped: no {missing()}; packaging/install-deps.sh site installs it")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *rest])
