# SPDX-License-Identifier: Apache-2.0
"""The skeleton of a new rule: the places in the sources, and the lines for each. If a place moves, change PLACES."""
import collections
import re

from tree import Mistake, closing, line_of

KINDS = ("error", "undefined", "advice", "question", "leak", "uncheckable")

# what: a description. of(kind): whether rules of that kind need the place. path(rule) -> file. there(text, rule):
# whether the file has the rule already. write(text, rule) -> (line from 0, lines).
Place = collections.namedtuple("Place", "what of path there write")


class NewRule:
    """The id on the command line, and the facts that follow from it."""

    def __init__(self, tree, rule_id, kind=None):
        self.tree, self.id, self.kind = tree, rule_id, kind
        entries = tree.entries()
        shape = re.fullmatch(r"(cu[A-Z]\w*)-([a-z0-9]+(?:-[a-zA-Z0-9_]+)*)", rule_id)
        if not shape:
            raise Mistake(f"'{rule_id}' is no rule id. Expected ENTRY-WORDS: the entry point's name, then lower-case words "
                          "joined by '-', as in cuMemMap-offset-zero")
        self.function, self.slug = shape.groups()
        self.entry = entries.get(self.function[2:])
        if not self.entry:
            near = [name for name in entries if name.lower().startswith(self.function[2:7].lower())]
            raise Mistake(f"{self.function} is no entry point of api/entry_points.def. "
                          + (f"Those like it: {', '.join('cu' + name for name in near)}. " if near else "")
                          + f"`./dev entry {self.function} --area AREA` adds it")
        self.area = self.entry.area
        if self.area not in tree.areas():
            raise Mistake(f"{self.function} is of area '{self.area}', which has no rules. Its rules need an area of "
                          "rulebook/catalogue/rules.def: change the area in api/entry_points.def first")
        of_entry = [rule for rule in tree.rules(self.area) if rule.entry == self.entry.name and rule.id != rule_id]
        known = tree.all_rules().get(rule_id)
        self.is_new = known is None
        self.name = known.name if known else self.new_name(of_entry)
        if known:
            self.kind = (known.kind if known.macro == "RULE" else known.macro).lower()
        self.siblings = [rule.name for rule in of_entry if (rule.kind == "Leak") == (self.kind == "leak")]

    def new_name(self, of_entry):
        """cuMemMap-x-even -> MapXEven, with the prefix of the entry point's other rules."""
        words = "".join(word[:1].upper() + word[1:] for word in re.split("[-_]", self.slug))
        prefixes = collections.Counter()
        for rule in of_entry:
            other = "".join(word[:1].upper() + word[1:] for word in re.split("[-_]", rule.id.partition("-")[2]))
            if rule.name.endswith(other) and rule.name != other:
                prefixes[rule.name[:-len(other)]] += 1
        name = (prefixes.most_common(1)[0][0] if prefixes else re.sub("^Mem(?=[A-Z])", "", self.entry.name)) + words
        taken = {rule.name for rule in self.tree.all_rules().values()}
        return self.entry.name + words if name in taken else name

    def since(self):
        versions = [version for _, _, version, _ in self.tree.symbols()[self.entry.name]]
        return min(versions) if versions else "TODO_SINCE"

    def parameter(self):
        """The parameter at the beginning of the id; without one, a TODO."""
        names = [name for _, _, name in self.entry.parameters]
        return next((name for name in names if self.slug == name or self.slug.startswith(name + "-")), "TODO_PARAMETER")


def table(rule):
    return f"rulebook/rules/{rule.area}.def"


def write_line(text, rule):
    """The place behind the entry point's other rules, before rules about leaks."""
    same = [other for other in rule.tree.rules(rule.area) if other.entry == rule.entry.name]
    lines = text.split("\n")
    before_leaks = [other for other in same if other.kind != "Leak" and other.macro != "UNCHECKABLE"]
    last = (before_leaks or same or rule.tree.rules(rule.area))[-1:]
    at = last[0].line if last else len(lines) - 1
    while at < len(lines) and lines[at].startswith("CUVMM_FORBIDDEN"):
        at += 1
    macro = {"question": "QUESTION", "uncheckable": "UNCHECKABLE"}.get(rule.kind, "RULE")
    kind = {"error": "Error", "undefined": "Undefined", "advice": "Advice", "leak": "Leak"}.get(rule.kind, "TODO_KIND")
    code, basis = ("CUDA_SUCCESS", "None") if rule.kind == "leak" else ("TODO_CODE", "TODO_BASIS")
    reason = ',\n           "TODO_REASON why no program can check it."' if macro == "UNCHECKABLE" else ""
    return at, (f"""// TODO({rule.id}): replace each TODO_ word by its value, then delete this comment.
//   parameter: the parameter at fault, "" for the call as a whole
//   kind: Error (the documentation forbids the call), Undefined, or Advice
//   code, basis: the CUDA_ERROR_ code; Documented if the documentation ties it to this mistake, Listed if it is only one of the
//     function's codes, Observed if a driver answered it
//   {rule.since()}: the CUDA version from which the rule holds (10020 is CUDA 10.2)
//   requirement, source, fix: the condition that must hold, the parameter or section of cuda.h that says so, and the repair
CUVMM_{macro}({rule.name}, "{rule.id}", {rule.entry.name}, "{rule.parameter()}", {kind}, {code}, {basis}, {rule.since()},
           "TODO_REQUIREMENT.", "cuda.h, {rule.function}, TODO_SOURCE", "TODO_FIX."{reason})""").split("\n")


def check_function(name):
    return re.compile(r"^Violations check\(const Model&[^)]*?\bcalls::%s&[^)]*\)\s*\{\n" % name, re.M)


def shares_check(tree, name):
    """Whether the entry point is one of the operations that a common template checks."""
    return any(re.search(r"\bcalls::%s\b" % name, tree.read(path)) or f"({name})" in tree.read(path)
               for path in tree.find("rulebook/batch/*.h", "rulebook/batch/*.cc") if not path.endswith("_test.cc"))


def check_file(rule):
    if rule.kind == "leak":
        return "rulebook/leaks/check_exit.cc"
    for path in rule.tree.find("rulebook/*/check_*.cc"):
        if not path.endswith("_test.cc") and check_function(rule.entry.name).search(rule.tree.read(path)):
            return path
    if rule.area == "data":
        raise Mistake(f"{rule.function} is a copy or fill. Those share the rules data-..., which check_touches() in "
                      "rulebook/data/check_data.cc checks; such a rule is written by hand, beside the others")
    if shares_check(rule.tree, rule.entry.name):
        raise Mistake(f"{rule.function} shares its check with other operations (rulebook/batch/check_operations.h); such a rule "
                      "is written by hand, beside the others")
    if rule.area == "order":
        raise Mistake(f"{rule.function} only orders work, or queues it: check_launch() in rulebook/order/ checks what launches are "
                      "given, and the rules of calls that take memory away are those calls'")
    raise Mistake(f"no rulebook/*/check_*.cc defines check() of calls::{rule.entry.name}. "
                  f"`./dev entry {rule.function}` writes the function")


def write_check(text, rule):
    """The place before the return of the entry point's check, if the check collects in `out`; else its first line."""
    mark = f"  // TODO({rule.id}): "
    if rule.kind == "leak":
        function = re.search(r"^Violations check_exit\(.*?\)\s*\{\n", text, re.M | re.S)
    else:
        function = check_function(rule.entry.name).search(text)
    start = line_of(text, function.end())
    end = closing(text, text.rindex("{", 0, function.end()))
    body = text[function.end():end]
    rule_call = f'out.add(Rule::k{rule.name}, "TODO_TEXT with the values of the call");'
    if rule.kind != "leak" and "Collector out;" in body and body.rstrip().endswith("return out.take();"):
        at = line_of(text, function.end() + body.rindex("return out.take();"))
        return at, [mark + "the condition.",
                    "  // What the model does not know is no finding. Range arithmetic never adds: size > total - offset.",
                    f"  if (false) {rule_call}"]
    return start, [mark + "check it where it belongs:", f"  // {rule_call}"]


def test_file(rule):
    """The check's test: the file with the most cases of this area's rules."""
    names = {other.name for other in rule.tree.rules(rule.area)}
    def cases(path):
        text = rule.tree.read(path)
        here = re.findall(r"\{Rule::k(\w+),", text)
        return (sum(name in names for name in here), path.endswith(f"/check_{rule.area}_test.cc"))
    return max(rule.tree.find("rulebook/*/check_*_test.cc"), key=cases)


def write_test(text, rule):
    """The place behind the last case of the entry point's other rules; without one, the end of the area's cases."""
    last = None
    for case in re.finditer(r"^( +)\{Rule::k(\w+),", text, re.M):
        if case.group(2) in rule.siblings:
            last = case
    if last:
        indent = last.group(1)
        at = line_of(text, closing(text, last.end(1))) + 1
    else:
        # An area may have several files of cases.
        function = re.search(r"^std::vector<RuleCase> (?:\w+_)?cases\(\) \{\n", text, re.M)
        at = line_of(text, re.compile(r"^  \};$", re.M).search(text, function.end()).start())
        indent = "      "
    if rule.kind == "leak":
        body = ["   if (broken) w.model = Model(World::platform());  // it is never ended",
                "   return check_exit(w.model, [](const Export&) { return true; });"]
    else:
        body = [f"   calls::{rule.entry.name} call{{}};", "   if (broken) call = {};", "   return check(w.model, call);"]
    return at, [indent + line for line in
                [f"// TODO({rule.id}): a legal call, and what makes it break this rule.",
                 f"{{Rule::k{rule.name},", " [](World& w, bool broken) {", *body, " }},"]]


def family_of(text, function):
    """Index of the end of the first family whose call is the function; None if there is none."""
    for family in re.finditer(r"^family (?:.*\n)(?:(?!family ).*\n?)*", text, re.M):
        if re.search(r"^call (?:\w+ = )?%s\(" % function, family.group(), re.M):
            return family
    return None


def family_file(rule):
    """The file with a family of the entry point, or with a case of this id; else the area's file."""
    for path in rule.tree.find("conformance/families/*.family", "conformance/cases/*/*.cuvmm",
                               "conformance/mutation/mutation_survivors.txt"):
        if states(rule.tree.read(path), rule):
            return path
    for path in rule.tree.find("conformance/families/*.family"):
        if family_of(rule.tree.read(path), rule.function):
            return path
    return f"conformance/families/{rule.area}.family"


def states(text, rule):
    """Whether the text has a break of a family, a case, or a reason why there is none."""
    return re.search(r"^(?:break |breaks (?:.* )?|)%s(?=[:\s])" % re.escape(rule.id), text, re.M) is not None


def write_break(text, rule):
    family = family_of(text, rule.function)
    todo = [f"# TODO({rule.id}): what to change in the call above: say `size=0`, `desc=null, count=2`, `before CALL`,",
            "# or `before h1 = CALL; handle=h1, size=0`. conformance/suite/family.h has the form.",
            "# If no family can break the rule: a case in conformance/cases/ instead of these lines. If no program can:",
            "# the reason in conformance/mutation/mutation_survivors.txt, and a RuleCase in rulebook/*/check_*_test.cc.",
            f"break {rule.id}: TODO"]
    if family:
        at = line_of(text, family.start()) + len(family.group().rstrip().split("\n"))
        return at, todo
    return len(text.split("\n")) - 1, new_family(rule.function, rule.entry.parameters, rule.id) + todo


def new_family(function, parameters, mark):
    """A family without its call, which the user fills in."""
    shown = [name for kind, _, name in parameters if not kind.startswith("Out") and kind not in ("Flags", "Stream")]
    made = "o0 = " if any(kind in ("OutAddress", "OutHandle", "OutObject", "OutShareable") for kind, _, _ in parameters) else ""
    return ["", f"# TODO({mark}): a legal call, and before it what the call needs. Grammar: docs/program-text.md; form: conformance/suite/family.h.",
            f"family {function}", "given", "  init()", f"call {made}{function}({', '.join(name + '=TODO' for name in shown)})"]


PLACES = (
    Place("the line of the table", lambda kind: True, table, lambda text, rule: f'"{rule.id}"' in text, write_line),
    Place("the check", lambda kind: kind != "uncheckable", check_file, lambda text, rule: f"Rule::k{rule.name}" in text, write_check),
    Place("the test of the check, and its near miss", lambda kind: kind == "leak", test_file,
          lambda text, rule: f"{{Rule::k{rule.name}," in text, write_test),
    Place("the break of a family, which is the test too; or a case", lambda kind: kind not in ("uncheckable", "leak"), family_file, states, write_break),
)


def places(rule):
    return [place for place in PLACES if place.of(rule.kind)]


def write(rule):
    """Writes all places. Finds all files first, so that a mistake leaves nothing half written."""
    found = [(place, place.path(rule)) for place in places(rule)]
    for place, path in found:
        text = rule.tree.read(path) if rule.tree.exists(path) else ""
        if not place.there(text, rule):
            rule.tree.insert(path, *place.write(text, rule), place.what)


def missing(rule):
    """(path, line or None, words) of the work that is left for the user."""
    marks = rule.tree.todos(rule.id)
    out = list(marks)
    for place in places(rule):
        path = place.path(rule)
        text = rule.tree.read(path) if rule.tree.exists(path) else ""
        if not place.there(text, rule):
            out.append((path, None, f"{place.what} is not there"))
        elif path not in {path for path, _, _ in marks}:
            # The user removed the TODO mark, but left a TODO_ word.
            out += [(path, number, "TODO is not filled in: " + line.strip()) for number, line in enumerate(text.split("\n"), 1)
                    if "TODO" in line and (f"Rule::k{rule.name}," in line or rule.id in line)]
    line = next(known for known in rule.tree.rules(rule.area) if known.id == rule.id)
    words = sorted(set(re.findall(r"\bTODO_\w+", line.text)))
    if words:
        out.append((table(rule), line.line, "not filled in: " + ", ".join(words)))
    return out
