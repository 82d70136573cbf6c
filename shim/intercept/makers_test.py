# SPDX-License-Identifier: Apache-2.0
"""makers_test.py SOURCE: every function of the driver that makes a stream, an event, a context, code or a graph is seen.

Were one not, an object that has the handle of an ended one would be taken for that: a false finding. And each function for
per-thread default streams (_ptsz, _ptds) is seen if its plain twin is.
"""

import pathlib
import re
import sys

source = pathlib.Path(sys.argv[1])
symbols = (source / "api/symbols/driver_symbols.txt").read_text().split()
seen = set(re.findall(r"^CUVMM_\w+\((cu\w+)", (source / "shim/intercept/object_functions.def").read_text(), re.M))
seen |= {f"cu{name}" for name in re.findall(r"^CUVMM_\w+\((\w+)", (source / "api/entry_points.def").read_text(), re.M)}
makers = {name for name in symbols if re.match(r"cu(Stream|Event|Ctx|GreenCtx\w*|Module|Library|Graph)(Create|Load|Clone|Instantiate)", name)}


def plain(name):
    return re.sub(r"_(v\d|ptsz|ptds)", "", name)


known = {plain(name) for name in seen}
assert len(makers) > 20, sorted(makers)
unseen = sorted(name for name in makers if plain(name) not in known)
assert not unseen, unseen

exact = set(re.findall(r"^CUVMM_\w+\((cu\w+)", (source / "shim/intercept/object_functions.def").read_text(), re.M))
exact |= set(re.findall(r"^CUVMM_SYMBOL\(\w+, (cu\w+)", (source / "api/entry_points.def").read_text(), re.M))
twins = {name: re.sub(r"_pt[sd][sz]$", "", name) for name in symbols if re.search(r"_pt[sd][sz]$", name)}
assert len(twins) > 100, len(twins)
# Neither twin is checked: questions without a rule, the graphics of other libraries, and captures for cuBLAS and its kind.
neither = {name for name, plain in twins.items() if name not in exact and plain not in exact}
alone = sorted(name for name, plain in twins.items() if name not in exact and plain in exact)
assert not alone, alone
assert neither <= {name for name in twins if re.search("Graphics|GLMap|Cig|Recapture", name)}, sorted(neither)
