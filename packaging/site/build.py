#!/usr/bin/env python3
"""Makes the site of the documents: their pages by mkdocs, the references of the headers by Doxygen.

  build.py DIR        DIR is made anew; beside it, DIR-work holds the staged pages

Pages are at the paths of the tree. Links are adapted: one to a header leads to its page of the reference, one to
another file of the tree to a copy of its text, one to a folder to a list of such copies. A document that mkdocs.yml
does not name, a link to a file that is not there and a warning of Doxygen are errors.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent))
import stage_documents  # noqa: E402

# Documents of the project that `deputy new-plugin` makes, and not of this one.
TEMPLATE = "sdk/template/"
# Of each reference its folder in the site, and where its headers are.
REFERENCES = {"host": "reference/host", "sdk": "reference/sdk"}
PICTURES = (".png", ".svg")
NESTED = '<a href="#nested-classes">Classes</a> &#124;\n'
REMARK = re.compile(r"^ *<!-- .* -->$")
UNNAMED = re.compile(r'not included in the "nav" configuration:((?:\n  - .*)+)')


def page_of(name):
    """The place of a document in the site; mkdocs leaves out folders that begin with a dot."""
    return re.sub(r"^\.github/", "project/", name)


def place_of_header(tags):
    """The page of each header, by the path in the tree."""
    pages = {}
    for part, folder in REFERENCES.items():
        for file in xml.etree.ElementTree.parse(tags / f"{part}.tag").iterfind("compound[@kind='file']"):
            path = Path(file.findtext("path"), file.findtext("name")).relative_to(ROOT)
            pages[path.as_posix()] = f"{folder}/{file.findtext('filename')}"
    return pages


class Site(stage_documents.Stage):
    def __init__(self, files, headers):
        super().__init__(files, "", {})
        self.pages = {name for name in files if name.endswith(".md") and not name.startswith(TEMPLATE)}
        self.headers = headers
        self.shown = set()  # files whose text the site has
        self.listed = set()  # folders
        self.dead = []

    def place_of(self, path):
        readme = "README.md" if path == "." else f"{path}/README.md"
        for page in (path, readme):
            if page in self.pages:
                return page_of(page)
        if path in self.headers:
            return self.headers[path]
        for part, folder in REFERENCES.items():
            if path in self.folders and f"{path}/".startswith(f"{part}/include/"):
                return f"{folder}/files.html"
        if path in self.files:
            if path.endswith(PICTURES):
                return path
            self.shown.add(path)
            return f"sources/{path}.txt"
        if path in self.folders:
            self.listed.add(path)
            return f"sources/{path}.md"
        return None

    def link(self, name, match):
        image, text, target = match.groups()
        path, hash_sign, anchor = target.partition("#")
        if "://" in target or not path:
            return match[0]
        place = self.place_of(os.path.normpath(os.path.join(os.path.dirname(name), path)))
        if place is None:
            self.dead.append(f"{name}: a link to {target}, which is not there")
            return text
        there = os.path.relpath(place, os.path.dirname(page_of(name)) or ".")
        return f"{image}[{text}]({there}{hash_sign}{anchor})"

    def adapted(self, name, text):
        """Without the remarks for tests too."""
        lines, inside = [], False
        for line in super().adapted(name, text).splitlines(keepends=True):
            inside ^= line.lstrip().startswith("```")
            if inside or not REMARK.match(line.rstrip()):
                lines.append(line)
        return "".join(lines)

    def listing(self, folder):
        lines = [f"# {folder}", ""]
        for name in sorted(name for name in self.files if name.startswith(f"{folder}/")):
            place = os.path.relpath(self.place_of(name), os.path.dirname(f"sources/{folder}"))
            lines.append(f"- [{name[len(folder) + 1:]}]({place})")
        return "\n".join(lines) + "\n"

    def stage(self, target):
        def write(place, text, encoding="utf-8"):
            (target / place).parent.mkdir(parents=True, exist_ok=True)
            (target / place).write_text(text, encoding=encoding)

        for name in sorted(self.pages):
            write(page_of(name), self.adapted(name, (ROOT / name).read_text(encoding="utf-8")))
        for folder in sorted(self.listed):
            write(f"sources/{folder}.md", self.listing(folder))
        for name in sorted(self.shown):  # the mark at the beginning tells a browser the encoding
            write(f"sources/{name}.txt", (ROOT / name).read_text(encoding="utf-8", errors="replace"), "utf-8-sig")
        for name in self.files:
            if name.endswith(PICTURES):
                (target / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, target / name)


def run(command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"build.py: {command[0]} failed:\n{done.stdout}")
    return done.stdout


def make_reference(part, target, tags):
    settings = (HERE / "doxygen.conf").read_text(encoding="utf-8")
    target.parent.mkdir(parents=True, exist_ok=True)
    run(["doxygen", "-"], cwd=ROOT, input=f"@INCLUDE = {part}/docs/Doxyfile\n{settings}"
        f"INPUT += packaging/site/{part}.dox\nOUTPUT_DIRECTORY = {target.parent}\nHTML_OUTPUT = {target.name}\n"
        f"GENERATE_TAGFILE = {tags / part}.tag\n")  # fmt: skip
    icon = f'<link rel="icon" href="{os.path.relpath("assets/images/favicon.png", REFERENCES[part])}"/>'
    for page in target.glob("*.html"):
        text = page.read_text(encoding="utf-8")
        if 'name="nested-classes"' not in text:  # Doxygen 1.9.4 links to it where it leaves out private types
            text = text.replace(NESTED, "")
        page.write_text(text.replace("</head>", f"{icon}\n</head>"), encoding="utf-8")


def configuration(decisions):
    text = (HERE / "mkdocs.yml").read_text(encoding="utf-8")
    return re.sub(r"( *- )DECISIONS\n", lambda match: "".join(f"{match[1]}{name}\n" for name in decisions), text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", type=Path, metavar="DIR")
    target = parser.parse_args().target.resolve()
    work = target.with_name(f"{target.name}-work")
    for folder in (target, work):
        shutil.rmtree(folder, ignore_errors=True)
    pages = work / "pages"
    pages.mkdir(parents=True)

    for part, folder in REFERENCES.items():
        make_reference(part, pages / folder, work)
    listed = run(["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"])
    files = [name for name in listed.split("\0") if name and (ROOT / name).is_file()]
    site = Site(files, place_of_header(work))
    site.stage(pages)
    if site.dead:
        sys.exit("\n".join(site.dead))
    shutil.copy(HERE / "site.css", pages)
    decisions = sorted(name for name in site.pages if re.match(r"host/docs/adr/\d", name))
    (work / "mkdocs.yml").write_text(configuration(decisions), encoding="utf-8")

    printed = run(["mkdocs", "build", "--strict", "--config-file", work / "mkdocs.yml", "--site-dir", target])
    unnamed = UNNAMED.search(printed)
    unnamed = [name for name in unnamed[1].split("\n  - ")[1:] if not name.startswith("sources/")] if unnamed else []
    if unnamed:
        sys.exit(f"build.py: packaging/site/mkdocs.yml does not name {', '.join(unnamed)}")
    # These two name the place of the site on a server, which it does not have.
    for name in ("404.html", "sitemap.xml", "sitemap.xml.gz"):
        (target / name).unlink(missing_ok=True)
    print(f"{len(list(target.rglob('*.html')))} pages, {len(site.shown)} sources")
    return 0


if __name__ == "__main__":
    sys.exit(main())
