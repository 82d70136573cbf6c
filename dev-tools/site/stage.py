# SPDX-License-Identifier: Apache-2.0
"""Writes the pages of the site as Markdown into one folder: the documents, the generated pages, a page for each source that
they link to, and the order of the list of pages. A rule's id and a generated page's name in code type become links.
Usage: stage.py FOLDER GENERATED. GENERATED: the folder with the pages that docs/generate wrote."""
import os
import posixpath
import re
import shutil
import sys

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# The order of the list on the left. A document that is missing here comes under "More".
ORDER = {
    "Start": ("howto/first-finding", "install/index", "run", "findings"),
    "How to": ("howto/allocator", "howto/framework-ci", "howto/driver-team", "howto/remoting", "howto/debug"),
    "Tests": ("testing/index", "testing/fail", "testing/uses", "suppressions"),
    "Look into a program": ("view/index", "live", "work-in-flight", "crashes", "doctor"),
    "Rules": ("rules/index", "threads", "deviations", "matrix"),
    "Reference": ("report", "settings/exit-codes", "environment", "profiles", "program-text", "cuda-versions", "install/promises", "reliability",
                  "performance", "source/CHANGELOG"),
    "Drivers": ("conformance", "cases", "fuzzing", "drivers/fleets"),
    "Inside": ("architecture", "source/CONTRIBUTING"),
}
LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\]\()([^)\s]+)(\))")
CODE = re.compile(r"^(```+|~~~).*?^\1[ \t]*$|(?<=\n\n)(?:    [^\n]*\n)+", re.M | re.S)
COPIED = (".webp", ".json")
LANGUAGES = {".py": "python", ".h": "cpp", ".c": "c", ".cc": "cpp", ".yml": "yaml", ".yaml": "yaml", ".sbatch": "bash"}
MOST_BYTES = 200_000
HIDDEN = {".git", ".deps", "build", "__pycache__"}


GENERATED = None


class DeadLink(Exception):
    pass


def real(path):
    """The file or folder of a path of the repository. Generated pages count as part of docs/."""
    if path.startswith("docs/"):
        generated = os.path.join(GENERATED, path[len("docs/"):])
        if os.path.exists(generated) and not os.path.exists(os.path.join(SOURCE, path)):
            return generated
    return os.path.join(SOURCE, path)


def documents():
    """The paths of all files below docs/, written and generated."""
    for folder in (os.path.join(SOURCE, "docs"), GENERATED):
        for where, _, names in os.walk(folder):
            for name in names:
                yield os.path.normpath(os.path.join("docs", os.path.relpath(where, folder), name))


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def page_of(path):
    """The page that shows a path of the repository, without its ending."""
    place = path[len("docs/"):] if path.startswith("docs/") else posixpath.join("source", path)
    if os.path.isdir(real(path)):
        return posixpath.join(place, "index")
    place = place[:-len(".md")] if place.endswith(".md") else place
    folder, name = posixpath.split(place)
    return posixpath.join(folder, "index") if name == "README" and path.startswith("docs/") else place


def leads_to(path, target):
    """The path in the repository to which a link on the page of `path` leads, or None if it leads elsewhere."""
    if re.match(r"[a-z]+:|#", target):
        return None
    there = posixpath.normpath(posixpath.join(posixpath.dirname(path), target.partition("#")[0]))
    if there.startswith(("../", "/")) or not os.path.exists(real(there)):
        raise DeadLink(f"{path}: there is no {target}")
    return there


def fenced(text, language):
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    return f"{fence}{language}\n{text.rstrip()}\n{fence}\n"


def shown(path):
    """The text of the page of a path."""
    full = real(path)
    if os.path.isdir(full):
        names = sorted(set(os.listdir(full)) - HIDDEN)
        files = [f"- [{name}]({name})" if os.path.isfile(os.path.join(full, name)) else f"- {name}/" for name in names]
        readme = os.path.join(full, "README.md")
        begin = read(readme) + "\n## Files\n\n" if os.path.exists(readme) else f"# {path}\n\n"
        return begin + "\n".join(files) + "\n"
    text = read(full)
    if path.endswith(".md"):
        return text
    if len(text) > MOST_BYTES:
        return f"# {path}\n\nThe repository has it: {len(text)} characters.\n"
    return f"# {path}\n\n" + fenced(text, LANGUAGES.get(os.path.splitext(path)[1], "none"))


def outside_code(text, change):
    """The text, with change(part) in place of each part between blocks of code."""
    parts, last = [], 0
    for code in CODE.finditer(text):
        parts += [change(text[last:code.start()]), code[0]]
        last = code.end()
    return "".join(parts) + change(text[last:])


def map_links(path, text, change):
    """The text with each link outside of code changed: change(match, the path in the repository that it leads to)."""
    here = path + "/x" if os.path.isdir(real(path)) else path

    def one(match):
        there = leads_to(here, match[2])
        return match[0] if there is None else change(match, there)

    return outside_code(text, lambda part: LINK.sub(one, part))


def rewritten(path, text, pages):
    """The text with each link changed to the page that shows its target."""
    folder = posixpath.dirname(page_of(path))

    def lead(match, there):
        if there not in pages:
            return match[0]
        _, hash_, anchor = match[2].partition("#")
        return match[1] + posixpath.relpath(page_of(there), folder or ".") + ".md" + hash_ + anchor + match[3]

    return map_links(path, text, lead)


def collect():
    """path -> text of each page: all documents, the sources that they link to, and the sources that those link to."""
    pages, todo = {}, [path for path in documents() if path.endswith(".md")] + ["CHANGELOG.md", "CONTRIBUTING.md"]
    while todo:
        path = todo.pop()
        if path in pages:
            continue
        pages[path] = text = shown(path)
        found = set()
        map_links(path, text, lambda match, there: found.add(there) or match[0])
        todo += sorted(there for there in found if not there.endswith(COPIED))
    return pages


def listing(caption, pages):
    return "\n```{toctree}\n:hidden:\n" + (f":caption: {caption}\n" if caption else "") + "\n" + "\n".join(pages) + "\n```\n"


def put(folder, name, text):
    """Writes only a changed page, so that Sphinx does not read the others again."""
    full = os.path.join(folder, name)
    if os.path.exists(full) and read(full) == text:
        return
    os.makedirs(os.path.dirname(full), exist_ok=True)
    with open(full, "w", encoding="utf-8") as file:
        file.write(text)


def named():
    """Text in code type -> the path and anchor that it names: ids of rules, and generated pages."""
    found = {}
    for path in documents():
        text = "" if os.path.exists(os.path.join(SOURCE, path)) else read(real(path))
        if path.endswith(".md") and text:
            found[path[len("docs/"):]] = path
            found |= {anchor: f"{path}#{anchor}" for anchor in re.findall(r'<a id="([^"]+)">', text)}
    return found


def with_names_linked(path, text, names):
    """The text with a link around each of the names that stands in code type, outside of code blocks and of links."""
    def lead(match):
        there = names.get(match[2] or "")
        return match[0] if there is None else f"[{match[0]}]({posixpath.relpath(there, posixpath.dirname(path) or '.')})"

    either = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\]\([^)\s]+\))|(?<!`)`([^`\n]+)`(?!`)")
    return outside_code(text, lambda part: either.sub(lead, part))


def main(folder, generated):
    global GENERATED  # pylint: disable=global-statement
    GENERATED = generated
    pages = collect()
    names = {page_of(path): path for path in pages}
    rules = sorted(name for name in names if name.startswith("rules/") and name != "rules/index")
    order = dict(ORDER)
    listed = {name for part in order.values() for name in part} | set(rules) | {"index"}
    order["More"] = tuple(sorted(name for name in names if name not in listed and not name.startswith("source/")))
    of_names = named()
    for name, path in names.items():
        text = pages[path]
        if path.startswith("docs/") and os.path.exists(os.path.join(SOURCE, path)):
            text = with_names_linked(path, text, of_names)
        text = rewritten(path, text, pages)
        if name == "index":
            text += "".join(listing(caption, part) for caption, part in order.items() if part)
        elif name == "rules/index":
            text += listing("", [posixpath.basename(rule) for rule in rules])
        elif name.startswith("source/") and name not in listed:
            text = "---\norphan: true\n---\n\n" + text
        put(folder, name + ".md", text)
    for where, _, files in os.walk(folder):  # deletes pages of an earlier build
        for file in files:
            path = os.path.relpath(os.path.join(where, file), folder)
            if path.endswith(".md") and path[:-len(".md")] not in names:
                os.remove(os.path.join(where, file))
    for path in documents():
        if path.endswith(COPIED):
            shutil.copy2(real(path), os.path.join(folder, path[len("docs/"):]))


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except DeadLink as error:
        sys.exit(f"stage.py: {error}")
