# SPDX-License-Identifier: Apache-2.0
"""Follows every link in a built site: the file must be there, and the anchor in it. Nothing may be loaded from elsewhere.
Usage: links.py FOLDER; prints what is wrong, and exits with 1 if anything is."""
import html.parser
import os
import posixpath
import re
import sys
import urllib.parse

LOADS = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src")}
MADE_BY_SPHINX = ("genindex.html", "search.html")


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.anchors, self.links, self.loads = {""}, [], []
        with open(path, encoding="utf-8") as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name == "id" or (name == "name" and tag == "a"):
                self.anchors.add(value)
            elif (tag, name) in LOADS:
                self.loads.append(value)
            elif (tag, name) == ("a", "href") and value:
                self.links.append(value)


def pages(folder):
    for where, _, names in os.walk(folder):
        for name in names:
            if name.endswith(".html"):
                path = os.path.join(where, name)
                yield os.path.relpath(path, folder), Page(path)


def dead(folder):
    """(page, link, reason) of each link without a target."""
    read = dict(pages(folder))
    for path, page in sorted(read.items()):
        for link in page.links + page.loads:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme == "data":
                continue
            if parts.scheme or parts.netloc:
                if link in page.loads:
                    yield path, link, "is loaded from elsewhere"
                continue
            there = posixpath.normpath(posixpath.join(posixpath.dirname(path), urllib.parse.unquote(parts.path))) if parts.path else path
            if there == "../versions.js":
                continue
            full = os.path.join(folder, there)
            if os.path.isdir(full):
                there, full = posixpath.join(there, "index.html"), os.path.join(full, "index.html")
            if not os.path.isfile(full):
                yield path, link, "is not there"
            elif there in read and urllib.parse.unquote(parts.fragment) not in read[there].anchors and posixpath.basename(path) not in MADE_BY_SPHINX:
                yield path, link, "has no such anchor"


def main(folder):
    wrong = [f"{path}: {link} {what}" for path, link, what in dead(folder)]
    print("\n".join(wrong) if wrong else f"{len(list(pages(folder)))} pages, no dead link")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
