# SPDX-License-Identifier: Apache-2.0
"""The skeleton of a new entry point: the places in the sources, and the lines for each. If a place moves, change PLACES."""
import collections
import functools
import os
import re
import subprocess
import sys

import headers
from multicast import Gate
from rule import family_of, new_family, shares_check
from tree import Mistake, Tree, line_of

# what: a description. path(tree, entry) -> file; None if nothing has to be written. there(text, entry): whether
# the file has the lines already. write(text, entry) -> (line from 0, lines).
Place = collections.namedtuple("Place", "what path there write")
NUMBER = re.compile(r"^(unsigned|int|size_t|long|cuuint\d+_t)\b[^*]*$")
# Kinds of parameters for numbers that a call writes, if the table has no such parameter yet.
OUT = {"int*": "OutInt", "unsigned int*": "OutInt", "size_t*": "OutSize", "cuuint64_t*": "OutSize"}
OLDEST = 12040  # the oldest headers with which all sources compile


class NewEntry:
    """The function on the command line, and the facts that follow from it."""

    def __init__(self, tree, function, area=None):
        self.tree, self.function, self.name = tree, function, function[2:]
        known = tree.entries()
        if not re.fullmatch(r"cu[A-Z]\w*", function):
            raise Mistake(f"'{function}' is no function of the driver. Expected its name, as in cuMemMap")
        base = re.search(r"^CUVMM_BASE\(%s[,)]" % self.name, tree.read("api/entry_points.def"), re.M)
        if base:
            raise Mistake(f"{function} is in api/entry_points.def as CUVMM_BASE: it is called, but not intercepted. "
                          "Make that line CUVMM_ENTRY, with an area, and move its run_base() in emulator/ to perform()")
        self.is_new = self.name not in known
        if not self.is_new:
            self.area, self.parameters = known[self.name].area, known[self.name].parameters
            self.guard = None
            return
        self.area = area
        areas = tree.areas()
        if area not in [each for each in areas if each != "general"]:
            problem = f"'{area}' is no area" if area else "the area is missing"
            alike = max(known.values(), key=lambda other: len(os.path.commonprefix([other.name, self.name])))
            raise Mistake(f"{problem}: `./dev entry {function} --area AREA`. cu{alike.name} is of area {alike.area}. The areas: "
                          f"{', '.join(each for each in areas if each != 'general')}. A new one is a file in rulebook/rules/, "
                          "a line of rulebook/catalogue/rules.def, and a title in tools/rules/rule_pages.cc")
        self.folders = headers.folders(tree.root)
        if not self.folders:
            raise Mistake("there are no CUDA headers here; `./dev headers newest` fetches them")
        self.folder = next((folder for folder in self.folders if headers.abis(folder, function)), None)
        if not self.folder:
            near = headers.similar(self.folders[0], function)
            raise Mistake(f"cudaTypedefs.h of CUDA {headers.version(self.folders[0])} has no PFN_{function}. "
                          + (f"Those like it: {', '.join(near)}. " if near else "") + "`./dev headers newest` fetches newer headers")
        self.abis = headers.abis(self.folder, function)
        self.kinds = Kinds(known)
        self.parameters = [(self.kinds.of(kind, name), kind, name) for kind, name in self.abis[-1].parameters]
        self.guard = self.guard_version()

    def guard_version(self):
        """The CUDA_VERSION without which a type of the call is not declared; None when 12.4 has them all."""
        used = {kind for entry in self.tree.entries().values() for _, kind, _ in entry.parameters}
        strange = [kind for _, kind, _ in self.parameters if re.search(r"\bC[UD]", kind) and kind not in used]
        old = next((folder for folder in self.folders if headers.version(folder) == OLDEST), None)
        if old:
            strange = [kind for kind in strange if not headers.knows_type(old, kind)]
        return self.abis[-1].version if strange and (old or self.abis[-1].version > OLDEST) else None

    def guarded(self, lines):
        return [f"#if CUDA_VERSION >= {self.guard}", *lines, "#endif"] if self.guard else lines

    def symbol_rows(self):
        """(symbol, query, version, flags) from the table of symbols, which update_table.py writes."""
        rows = [row.split() for row in self.tree.read("api/symbols/driver_symbols.txt").splitlines() if " " in row]
        return sorted(([row[0], self.function, int(row[1]), int(row[2])] for row in rows if row[0].split("_")[0] == self.function),
                      key=lambda row: (-row[2], row[3]))

    def multicast(self):
        """Whether the function can make or use a multicast team, by the rule of api/multicast.h."""
        return Gate(self.tree.read("api/entry_points.def")).holds(self.function)


class Kinds:
    """The ParameterKind of a type in the present table. The parameter's name decides if the type has several kinds."""

    def __init__(self, entries):
        self.by_name, self.by_type = collections.Counter(), collections.defaultdict(collections.Counter)
        for entry in entries.values():
            for kind, c_type, name in entry.parameters:
                self.by_name[c_type, name.lower(), kind] += 1
                self.by_type[c_type][kind] += 1

    def of(self, c_type, name):
        number = NUMBER.search(c_type)
        named = collections.Counter()
        for (known, other, kind), count in self.by_name.items():
            # Number parameters with equal names have equal meanings, in any width.
            if other == name.lower() and (known == c_type or number and NUMBER.search(known)):
                named[kind] += count
        if named:
            return named.most_common(1)[0][0]
        if c_type in self.by_type:
            return self.by_type[c_type].most_common(1)[0][0]
        return OUT.get(c_type.replace(" *", "*")) or ("Opaque" if "*" in c_type else "Value")

    def doubt(self, c_type):
        """The other kinds that the type may have; "" if it has only one."""
        if c_type not in self.by_type and c_type.replace(" *", "*") in OUT:
            return f"{c_type} is taken for what the call writes"
        if c_type not in self.by_type:
            return f"{c_type} is new here: api/parameter_kind.h has the kinds; of a structure, api/record_fields.h the fields"
        kinds = self.by_type[c_type]
        return f"{c_type} is also {', '.join(kind for kind, _ in kinds.most_common()[1:])}" if len(kinds) > 1 else ""


def write_table(text, entry):
    """The place behind the last line of the area's entry points and their symbols."""
    rows = entry.symbol_rows()
    by_version = {(abi.version, abi.suffix != ""): abi.parameters for abi in entry.abis}
    lines = []
    doubts = [doubt for doubt in dict.fromkeys(entry.kinds.doubt(kind) for _, kind, _ in entry.parameters) if doubt]
    lines.append(f"// TODO({entry.function}): look at each parameter's kind, then delete this comment.")
    lines += [f"// {doubt}." for doubt in doubts]
    call = "".join(f", ({kind}, {c_type}, {name})" for kind, c_type, name in entry.parameters)
    newest, others = [], []
    for symbol, query, version, flags in rows:
        same = by_version.get((version, flags != 0), by_version.get((version, False))) == entry.abis[-1].parameters
        (newest if same else others).append(
            f"CUVMM_SYMBOL({entry.name if same else 'Other'}, {symbol}, {query}, {version}, {flags})")
    lines += entry.guarded([f"CUVMM_ENTRY({entry.name}, {entry.area}{call})", *newest]) + others
    lines += [f"CUVMM_MULTICAST({entry.name})"] if entry.multicast() else []
    present = text.split("\n")
    at = max(number for number, line in enumerate(present) if re.match(r"CUVMM_ENTRY\(\w+, %s\b" % entry.area, line)) + 1
    while re.match(r"CUVMM_SYMBOL|CUVMM_MULTICAST\(|#endif", present[at]):
        at += 1
    return at, lines


def most_of_area(entry, pattern, *globs):
    """The file in which the pattern matches most of the area's entry points; None if no file has a match."""
    names = [other.name for other in entry.tree.entries().values() if other.area == entry.area and other.name != entry.name]
    def count(path):
        text = entry.tree.read(path)
        return sum(re.search(pattern % name, text, re.M) is not None for name in names)
    counts = {path: count(path) for path in entry.tree.find(*globs)}
    best = max(counts, key=counts.get, default=None)
    return best if best and counts[best] else None


def at_the_end(text):
    """The line of the brace that closes the last namespace."""
    lines = text.split("\n")
    return max(number for number, line in enumerate(lines) if re.match(r"\}  // namespace ", line))


def define(entry, *lines):
    return lambda text: (at_the_end(text), entry.guarded(list(lines)) + [""])


def a_copy(entry):
    """Whether the entry point is a copy or fill without a check and a perform() of its own."""
    return entry.area == "data" and not entry.is_new and f"CUVMM_DECLARE({entry.name})" not in entry.tree.read("rulebook/check/check.h")


@functools.lru_cache(maxsize=1)
def emulator_text(root):
    tree = Tree(root)
    return "".join(tree.read(path) for path in tree.find("emulator/**/*.h", "emulator/**/*.cc"))


def done_its_own_way(entry):
    """Whether the entry point exists already, and is a copy or a call that some code of the emulator names."""
    return not entry.is_new and (a_copy(entry) or re.search(r"\bcalls::%s\b" % entry.name, emulator_text(entry.tree.root)))


def checked(name):
    return re.compile(r"^Violations check\(const Model&[^;{]*\bcalls::%s&" % name, re.M)


def check_path(entry):
    for path in entry.tree.find("rulebook/*/check_*.cc"):
        if checked(entry.name).search(entry.tree.read(path)):
            return path
    if entry.area == "data":
        return None if a_copy(entry) else "rulebook/data/check_data.cc"
    if not entry.is_new and shares_check(entry.tree, entry.name):
        return None
    return most_of_area(entry, checked("%s").pattern, "rulebook/*/check_*.cc")


def write_data_check(text, entry):
    lines = text.split("\n")
    return max(number for number, line in enumerate(lines) if line.startswith("CUVMM_DECLARE(")) + 1, entry.guarded(
        [f"CUVMM_DECLARE({entry.name})"])


def write_check(text, entry):
    return define(entry, f"// TODO({entry.function}): name the parameters that its rules use.",
                  f"Violations check(const Model&, const calls::{entry.name}&, const Facts& facts) {{", "  Collector out;",
                  "  if (not_initialized(out, facts)) return out.take();", "  return out.take();", "}")(text)


DECLARED = r"^(?:CUVMM_PERFORM\(|CUresult perform\(Emulator&, const calls::)%s\b.*;$"


def declaration_path(entry):
    """The header with a declaration for each perform() of the area; None if the table makes these declarations."""
    return None if done_its_own_way(entry) else most_of_area(entry, DECLARED, "emulator/**/*.h")


def write_declaration(text, entry):
    """A declaration behind the last one of the area, in its form."""
    names = "|".join(other.name for other in entry.tree.entries().values() if other.area == entry.area)
    last = list(re.finditer(DECLARED % f"({names})", text, re.M))[-1]
    return line_of(text, last.end()) + 1, entry.guarded([last.group().replace(last.group(1), entry.name, 1)])


def defined_without_rules(entry):
    """(file, line) of the emulator's definition of the function, which does without the rules; None if it has none."""
    own = re.compile(r"CUVMM_DRIVER_FUNCTION\w*\(%s[,)]" % entry.function)
    for path in entry.tree.find("emulator/**/*.cc"):
        text = entry.tree.read(path)
        if found := own.search(text):
            return path, text.count("\n", 0, found.start()) + 1
    return None


def perform_path(entry):
    if done_its_own_way(entry):
        return None
    present = defined_without_rules(entry)
    if present:  # the function's body moves into perform(), and needs the local functions of its file
        return present[0]
    return most_of_area(entry, r"^CUresult perform\(Emulator&(?: \w+)?, const calls::%s&", "emulator/**/*.cc")


def write_perform(text, entry):
    return define(entry, f"// TODO({entry.function}): what an accepted call does to the machine.",
                  f"CUresult perform(Emulator&, const calls::{entry.name}&, const Facts&, const Retired&) {{",
                  "  return CUDA_ERROR_NOT_SUPPORTED;", "}")(text)


def family_path(entry):
    """The file for the family; None if no family makes the call, because a case does or no program text can."""
    for path in entry.tree.find("conformance/families/*.family"):
        if family_of(entry.tree.read(path), entry.function):
            return path
    return f"conformance/families/{entry.area}.family" if entry.is_new else None


def write_family(text, entry):
    return len(text.rstrip("\n").split("\n")), new_family(entry.function, entry.parameters, entry.function)


PLACES = (
    Place("the entry point, and the symbols that cuGetProcAddress knows", lambda entry: "api/entry_points.def",
          lambda text, entry: re.search(r"^CUVMM_ENTRY\(%s," % entry.name, text, re.M), write_table),
    Place("the check, without rules so far", check_path,
          lambda text, entry: checked(entry.name).search(text), write_check),
    Place("the declaration of the check", lambda entry: "rulebook/check/check.h" if entry.area == "data" and not a_copy(entry) else None,
          lambda text, entry: f"CUVMM_DECLARE({entry.name})" in text, write_data_check),
    Place("the emulator's declaration", declaration_path, lambda text, entry: re.search(DECLARED % entry.name, text, re.M),
          write_declaration),
    Place("what the emulator does", perform_path,
          lambda text, entry: re.search(r"perform\(Emulator&[^)]*\bcalls::%s&" % entry.name, text), write_perform),
    Place("the family: a legal call", family_path, lambda text, entry: family_of(text, entry.function), write_family),
)


def update_tables(entry):
    """Adds the symbols of a function that is newer than the table of symbols."""
    if entry.symbol_rows():
        return
    script = entry.tree.full("api/symbols/update_table.py")
    print(f"{entry.function} is newer than the table of symbols: api/symbols/update_table.py {entry.folder}")
    subprocess.run([sys.executable, script, entry.folder], check=True)
    if not entry.symbol_rows():
        raise Mistake(f"api/symbols/driver_symbols.txt still has no {entry.function} after update_table.py")


def write(entry):
    if entry.is_new:
        update_tables(entry)
    found = [(place, place.path(entry)) for place in PLACES]
    for place, path in found:
        if not path:
            continue
        text = entry.tree.read(path) if entry.tree.exists(path) else ""
        if not place.there(text, entry):
            entry.tree.insert(path, *place.write(text, entry), place.what)


def missing(entry):
    """(path, line or None, words) of the work that is left for the user."""
    out = list(entry.tree.todos(entry.function))
    for place in PLACES:
        path = place.path(entry)
        text = entry.tree.read(path) if path and entry.tree.exists(path) else ""
        if path and not place.there(text, entry):
            out.append((path, None, f"{place.what}: not there"))
    ruled = entry.area in entry.tree.areas() and not a_copy(entry)
    if ruled and not any(rule.entry in (entry.name, "Any") for rule in entry.tree.rules(entry.area)):
        out.append((f"rulebook/rules/{entry.area}.def", None,
                    f"it has no rule yet: `./dev rule {entry.function}-WORDS` for each precondition that is documented"))
    return out


def shared_code(entry):
    """The steps without a skeleton, because the area's entry points share one function, and the file of that function."""
    names = "|".join(other.name for other in entry.tree.entries().values() if other.area == entry.area and other.name != entry.name)
    for step, path, globs in (("check", check_path(entry), ("rulebook/**/*.cc",)),
                              ("perform()", perform_path(entry), ("emulator/*/*.cc",))):
        if path or entry.area == "data":
            continue
        counts = {path: len(re.findall(r"\b(?:%s)\b" % names, entry.tree.read(path)))
                  for path in entry.tree.find(*globs) if not path.endswith("_test.cc") and "/testing" not in path}
        best = max(counts, key=counts.get)
        if re.search(r"\brun_base\(const calls::(?:%s)&" % names, entry.tree.read(best)):
            yield f"no skeleton has its {step}: the entry points of area {entry.area} have a run_base() instead, as in {best}"
        elif counts[best]:
            yield f"no skeleton has its {step}, because the entry points of area {entry.area} share one: add {entry.name} to {best}"
        else:
            yield f"no skeleton has its {step}, because no entry point of area {entry.area} has one"


OBJECT_FUNCTIONS = "shim/intercept/object_functions.def"


def notes(entry):
    """The further steps that only some functions need, and for which there is no skeleton."""
    tree, out = entry.tree, list(shared_code(entry))
    if present := defined_without_rules(entry):
        path, line = present
        out.append(f"{path}:{line} defines the function already, without rules. Move its body to perform(), and delete it")
    if tree.exists(OBJECT_FUNCTIONS):
        for number, row in enumerate(tree.read(OBJECT_FUNCTIONS).splitlines(), 1):
            if re.match(r"CUVMM_\w+\(\w+, %s," % entry.function, row):
                out.append(f"{OBJECT_FUNCTIONS}:{number} wraps the function as one without checks. Delete the line, because the "
                           "wrapper comes from api/entry_points.def now")
    if entry.area == "data":
        plan = "".join(tree.find("emulator/**/transfer_plan.h"))
        out.append("a copy or fill has no check and no perform() of its own: instead of these, touches() in rulebook/check/touch.cc "
                   f"and plan() in {plan}")
    out.append("if a success makes or ends an object: begin(), confirm() and undo() of its area's state in rulebook/states/*_state.h and .cc")
    out.append("if the shim must do something beside what it does for every call: a Policy in shim/policy/")
    out.append("if the check needs a fact that only the driver knows: a field of Facts in rulebook/base/platform.h, "
               "which shim/facts/facts.cc and the emulator's add_facts() fill")
    out.append("if a stream that captures forbids the call: emulator/graph/capture_gate.h")
    out.append("if the fuzzer is to make the call: its line among the ops of fuzz/ops/, and the naive reference in fuzz/reference/")
    runtime = "cuda" + entry.name
    if os.path.exists(tree.full("emulator/runtime/runtime_symbols.txt")) and re.search(
            r"^%s\b" % runtime, tree.read("emulator/runtime/runtime_symbols.txt"), re.M):
        out.append(f"the CUDA runtime has {runtime}: emulator/runtime/calls/ and shim/intercept/runtime_twins.def")
    if entry.multicast():
        out.append("no test, benchmark or script may let the call reach a real driver: its CUVMM_MULTICAST line is the gate "
                   "(api/multicast.h)")
    else:
        out.append("if it can make or use a multicast team all the same: CUVMM_MULTICAST in api/entry_points.def, the gate")
    return out
