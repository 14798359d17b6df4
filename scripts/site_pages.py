#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the pages of the docs' site from the repository's Markdown, and checks the finished site.

Usage: site_pages.py make ROOT FOLDER     pages for Sphinx; what they link to of the repository
                                          goes to FOLDER/extra/files
       site_pages.py check FOLDER         every link inside the site leads somewhere
       site_pages.py names ROOT FOLDER    every public type of the umbrella headers is in the reference
Exit status: 0, or 1 after a line for each thing that is wrong.
"""

import re
import shutil
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

HIDDEN = re.compile(r"^<!-- .*? -->\n", re.MULTILINE | re.DOTALL)  # for tests/tree/code_blocks.py
LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)|!\[([^\]]*)\]\(([^()\s]+)\)")


def make(root, folder):
    """The README is the start page; docs/NAME.md is NAME."""
    pages = {root / "README.md": "index.md"}
    pages |= {page: page.name for page in sorted((root / "docs").glob("*.md"))}
    wrong = []
    for page, name in pages.items():
        text = "".join(
            part if is_code else LINK.sub(lambda match: moved(match, page, root, folder, pages, wrong), part)
            for is_code, part in parts_of(HIDDEN.sub("", page.read_text(encoding="utf-8")))
        )
        if name == "index.md":
            text += (root / "docs" / "site" / "contents.md").read_text(encoding="utf-8")
        (folder / name).write_text(text, encoding="utf-8")
    return wrong


def parts_of(text):
    """Pieces, each with whether it is a fenced block of code."""
    code = False
    piece = []
    for line in text.splitlines(keepends=True):
        if line.startswith("```"):
            if not code:
                yield False, "".join(piece)
                piece = [line]
            else:
                yield True, "".join([*piece, line])
                piece = []
            code = not code
        else:
            piece.append(line)
    yield code, "".join(piece)


def moved(match, page, root, folder, pages, wrong):
    """The link as the site has it."""
    text, target = (match[1], match[2]) if match[2] else (match[3], match[4])
    path, _, anchor = target.partition("#")
    if "://" in target or not path:
        return match[0]
    file = (page.parent / path).resolve()
    if file in pages:
        return f"[{text}]({pages[file]}{'#' + anchor if anchor else ''})"
    if not file.exists() or root not in file.parents:
        wrong.append(f"{page.relative_to(root)}: there is no {target}")
        return text
    if file.is_dir():
        return text
    name = file.relative_to(root)
    if match[4]:  # a picture
        shutil.copy(file, folder / name.name)
        return f"![{text}]({name.name})"
    copy = folder / "extra" / "files" / name
    copy.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(file, copy)
    return f'<a href="files/{name}">{text.replace("`", "")}</a>'


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.links, self.anchors = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        of = dict(attributes)
        self.anchors |= {of[key] for key in ("id", "name") if of.get(key)}
        self.links += [of[key] for key in ("href", "src") if of.get(key)]


def check(folder):
    pages = {path.resolve(): Page(path.read_text(encoding="utf-8", errors="replace"))
             for path in sorted(folder.rglob("*.html"))}  # fmt: skip
    for path, page in pages.items():
        for link in page.links:
            target, _, anchor = unquote(link).partition("#")
            target = target.partition("?")[0]
            if re.match(r"[a-z]+:", link) or (not target and not anchor):
                continue
            file = (path.parent / target).resolve() if target else path
            if not file.exists():
                yield f"{path.relative_to(folder.resolve())}: {link} leads nowhere"
            elif anchor == "nested-classes":
                continue  # Doxygen 1.9 links to this list also where it is empty
            elif anchor and file in pages and anchor not in pages[file].anchors:
                yield f"{path.relative_to(folder.resolve())}: {link}: there is no such place"
    if len(pages) < 20:
        yield f"only {len(pages)} pages: this check checks nothing"


def names(root, folder):
    """Types, functions and constants that begin a declaration in namespace hetsched or below."""
    declared = re.compile(
        r"^(?:template\s*<[^;{}]*>\s*)?(?:(?:struct|class|concept|enum class)\s+(\w+)"
        r"|(?:inline\s+)?constexpr\s+[\w:<>*& ]+?\s+(\w+)\s*[{=]"
        r"|(?:\[\[nodiscard\]\]\s*)?(?:inline\s+|constexpr\s+)*[\w:<>*&]+\s+(\w+)\s*\()",
        re.MULTILINE)  # fmt: skip
    everything = "".join(path.read_text(encoding="utf-8", errors="replace")
                         for path in folder.rglob("api/**/*.html")
                         if not path.name.endswith("_source.html"))  # fmt: skip
    words = set(re.findall(r"\w+", everything))
    count = 0
    for header in sorted((root / "include" / "hetsched").rglob("*.hpp")):
        if "detail" in header.relative_to(root / "include" / "hetsched").parts:
            continue
        text = re.sub(r"namespace (?:\w+::)*detail \{.*?^\} // namespace (?:\w+::)*detail", "",
                      header.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)  # fmt: skip
        for match in declared.finditer(text):
            name = next(group for group in match.groups() if group)
            if name in ("if", "return", "static_assert", "while", "for", "switch", "operator"):
                continue
            count += 1
            if name not in words:
                yield f"{header.relative_to(root)}: {name} is not in the reference"
    if count < 300:
        yield f"only {count} names: this check checks nothing"


def main():
    what, *paths = sys.argv[1:]
    paths = [Path(path).resolve() for path in paths]
    wrong = list({"make": make, "check": check, "names": names}[what](*paths))
    print("\n".join(wrong[:50]) if wrong else f"{what}: nothing is wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
