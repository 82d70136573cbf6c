# SPDX-License-Identifier: Apache-2.0
"""Reads the CUDA headers of one version into facts: names, fingerprints of declarations, hashes of comments."""
import bisect
import collections
import hashlib
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "scaffold"))
from headers import text_of  # pylint: disable=wrong-import-position

# kind: function, abi, symbol, comment, enumerator, field, macro or type. name: the item's; an abi's is
# QUERY:VERSION:FLAGS, the arguments of cuGetProcAddress; a symbol's is FUNCTION:SYMBOL, if programs link another name
# than they write. text: the declaration without extra spaces; a comment's words. of: the enum, structure or function
# that the item belongs to.
Item = collections.namedtuple("Item", "kind name text of")

# The macros that the compiler of a Linux program defines. All other macros in cuda.h's conditions are undefined.
DEFINED = {"__GNUC__", "__cplusplus", "__LP64__", "__linux__"}
BLOCK = re.compile(r"\b(enum|struct|union)\s+(?:__attribute__\s*\(\(.*?\)\)\s*)?(\w*)\s*\{")
BRACKET = re.compile(r"[{}]")
# Words for the compiler that may stand between a function and its comment.
BETWEEN = re.compile(r"(\s|__CUDA_DEPRECATED\b|__declspec\([^)]*\)|CUDAAPI\b)*")


def fingerprint(text):
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def items(folder):
    """(kind, name) -> Item, of cuda.h and cudaTypedefs.h."""
    found = parse(text_of(folder, "cuda.h"))
    # Takes all forms of cudaTypedefs.h, because programs may ask for the oldest ones, too, which are for the driver.
    for query, ver, suffix, text in re.findall(
            r"typedef\s+CUresult\s*\(CUDAAPI \*PFN_(cu\w+?)_v(\d+)(?:_(ptsz|ptds))?\)\(([^;]*?)\);",
            without_comments(text_of(folder, "cudaTypedefs.h"))[0]):
        name = f"{query}:{ver}:{2 if suffix else 0}"
        found["abi", name] = Item("abi", name, types_of(text), query)
    return found


def parse(text):
    """The items of a text like cuda.h."""
    code, comments = without_comments(text)
    code = reachable(code)
    found = {}

    def add(kind, name, words, of):
        found.setdefault((kind, name), Item(kind, name, spaced(words), of))

    for name, value in re.findall(r"^[ \t]*#[ \t]*define[ \t]+(CU\w+)[ \t]+(\S[^\n]*)$", code, re.M):
        add("macro", name, value, name)
    for name, symbol in re.findall(
            r"^[ \t]*#[ \t]*define[ \t]+(cu[A-Z]\w*)[ \t]+(?:\w+\()?(cu[A-Z]\w*)\)?[ \t]*$", code, re.M):
        if name != symbol:
            add("symbol", f"{name}:{symbol}", symbol, name)
    code = re.sub(r"^[ \t]*#[^\n]*", lambda line: " " * len(line.group()), code, flags=re.M)
    ends = list(comments)
    for function in re.finditer(r"\bCUresult\s+CUDAAPI\s+(cu[A-Z]\w*)\s*\(([^;{]*)\)\s*;", code):
        name = function.group(1)
        if ("function", name) in found:
            continue
        add("function", name, types_of(function.group(2)), name)
        comment = comment_before(code, comments, ends, function.start())
        if comment:
            add("comment", name, words_of(comment), name)
    for kind, name, start, end in blocks(code):
        body = code[start:end]
        inside = ends[bisect.bisect_right(ends, start):bisect.bisect_right(ends, end)]
        add("comment", name, " ".join(words_of(comments[each]) for each in inside), name)
        if kind == "enum":
            for enumerator, value in enumerators(body):
                add("enumerator", enumerator, value, name)
        else:
            for field, declared in fields(body):
                add("field", f"{name}.{field}", declared, name)
    for target, name in re.findall(r"\btypedef\s+([^{};()]+?)\s*\b(CU\w+)\s*;", code):
        if spaced(target) != f"struct {name}":
            add("type", name, target, name)
    return found


def without_comments(text):
    """The text with blanks in place of each comment, and the comments as {index behind the comment: text}."""
    comments = {}

    def blank(comment):
        if comment.group().startswith("/*"):
            comments[comment.end()] = comment.group()
        return re.sub(r"[^\n]", " ", comment.group())
    return re.sub(r"/\*.*?\*/|//[^\n]*", blank, text, flags=re.S), comments


def comment_before(code, comments, ends, at):
    """The comment that ends where the declaration at `at` begins."""
    number = bisect.bisect_right(ends, at) - 1
    return comments[ends[number]] if number >= 0 and BETWEEN.fullmatch(code, ends[number], at) else None


def holds(condition):
    """Whether an #if is true. A comparison of a version number counts as true."""
    words = re.sub(r"defined\s*\(?\s*(\w+)\s*\)?", lambda name: str(name.group(1) in DEFINED), condition)
    words = re.sub(r"\(?\b\w+\s*(>=|<=|<|>|==)\s*\w+\)?", lambda test: str(">" in test.group(1)), words)
    words = words.replace("&&", " and ").replace("||", " or ").replace("!", " not ")
    words = re.sub(r"\b(?!(?:True|False|and|or|not)\b)[A-Za-z_]\w*\b", "False", words)
    try:
        return bool(eval(words, {"__builtins__": {}}))  # pylint: disable=eval-used
    except (SyntaxError, TypeError):
        return True  # better one declaration too many than one too few


def reachable(code):
    """The code with blanks in place of the parts that a Linux compiler leaves out."""
    out, stack = [], []  # for each open #if: whether its present branch is taken, whether any was
    for line in code.split("\n"):
        directive = re.match(r"\s*#\s*(if|ifdef|ifndef|elif|else|endif)\b(.*)", line)
        if directive:
            word, rest = directive.group(1), directive.group(2).strip()
            if word in ("if", "ifdef", "ifndef"):
                taken = {"if": lambda: holds(rest), "ifdef": lambda: rest in DEFINED,
                         "ifndef": lambda: rest not in DEFINED}[word]()
                stack.append((taken, taken))
            elif word == "endif" and stack:
                stack.pop()
            elif stack:
                _, ever = stack.pop()
                taken = not ever and (word == "else" or holds(rest))
                stack.append((taken, ever or taken))
            out.append(" " * len(line))
        else:
            out.append(line if all(taken for taken, _ in stack) else " " * len(line))
    return "\n".join(out)


def blocks(code):
    """(enum | struct | union, name, start, end of its body) of each definition that is not inside another one."""
    at = 0
    while True:
        start = BLOCK.search(code, at)
        if not start:
            return
        depth, at = 1, start.end()
        while depth:
            bracket = BRACKET.search(code, at)
            if not bracket:
                return
            depth += 1 if bracket.group() == "{" else -1
            at = bracket.end()
        behind = re.compile(r"\s*(\w*)\s*;").match(code, at)
        yield start.group(1), (behind and behind.group(1)) or start.group(2), start.end(), at - 1


def enumerators(body):
    """(name, value) of each enumerator. One without a value gets the last given value, plus its distance from that."""
    base, step = "0", -1
    for part in split(body, ","):
        name, _, value = part.partition("=")
        base, step = (value, 0) if value.strip() else (base, step + 1)
        yield name.strip(), f"{base} + {step}" if step else base


def fields(body, prefix=""):
    """(path, type) of each field. Fields of a nested structure without a name count as fields of the outer one."""
    for part in split(body, ";"):
        nested = re.fullmatch(r"\s*(?:struct|union)\s*\w*\s*\{(.*)\}\s*(\w*)\s*(?:\[[^]]*\])?\s*", part, re.S)
        if nested:
            yield from fields(nested.group(1), f"{prefix}{nested.group(2)}." if nested.group(2) else prefix)
            continue
        words = spaced(part)
        declared = (re.fullmatch(r"(.*?\()\s*(?:CUDA_CB\s*)?\*(\w+)(\).*)", words)
                    or re.fullmatch(r"(.*?)(\w+)((?:\[[^]]*\]|:\d+)*)", words))
        if declared:
            yield prefix + declared.group(2), declared.group(1) + declared.group(3)


def split(text, mark):
    """The parts of a text between the marks outside of brackets."""
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        depth += {"{": 1, "(": 1, "[": 1, "}": -1, ")": -1, "]": -1}.get(letter, 0)
        if letter == mark and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    return [part for part in (*parts, text[start:]) if part.strip()]


def spaced(text):
    return re.sub(r"\s*([*,()\[\]])\s*", r"\1", " ".join(text.split())).strip()


def types_of(parameters):
    """The parameters without their names, because a name may change without any effect."""
    found = []
    for part in split(parameters, ","):
        words = spaced(part)
        named = re.fullmatch(r"(.*[\s*])(\w+)((?:\[[^]]*\])*)", words)
        found.append(spaced(named.group(1) + named.group(3)) if named and words != "void" else words)
    return ",".join(found)


def words_of(comment):
    """A comment's words, without its layout and its list of further reading."""
    text = re.sub(r"^[ \t]*\*+(?!/)[ \t]?", "", comment.strip()[2:-2], flags=re.M)
    text = re.split(r"^\s*\\(?:sa|see)\b", text, maxsplit=1, flags=re.M)[0]
    text = re.sub(r"\\(?:p|ref|c|e|a|b|li|n|note|par|details|brief)\b", " ", text)
    text = re.sub(r"[^\w<>=&|+*/{}\[\]\\-]|(?<!\S)[-#]+(?!\S)", " ", text)
    return " ".join(text.split())
