# SPDX-License-Identifier: Apache-2.0
"""Runs a program under the shim with its reports in a folder, and compares the reports with the
test's expectations.

Options come first, then `--` and the program. Exit code 0 if all of them hold.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shim", required=True)
    parser.add_argument("--driver", default="", help="CUVMM_DRIVER")
    parser.add_argument("--preload", action="append", default=[], help="preloaded before the shim")
    parser.add_argument("--preload-after", action="append", default=[])
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--code", type=int, default=0, help="exit code, negative for a signal")
    parser.add_argument("--maps", type=int, action="append", default=None,
                        help="cuMemMap calls in each report, in any order")
    parser.add_argument("--findings", type=int, default=None, help="count of cuMemMap-offset-zero per report that has calls")
    parser.add_argument("--result", default="CUDA_ERROR_INVALID_VALUE", help="of that finding")
    parser.add_argument("--calls", action="append", default=[], metavar="NAME=N", help="checked calls, in all reports")
    parser.add_argument("--unchecked", action="append", default=[],
                        help="text that an unchecked entry holds; there is one entry for each of these")
    parser.add_argument("--says", action="append", default=[], help="text that stderr holds exactly once")
    parser.add_argument("--silent", action="store_true", help="nothing on stderr")
    parser.add_argument("--not-forwarded", action="append", default=[], help="driver call that must not arrive")
    parser.add_argument("--runtime", default=None, help="the finding's runtime function, or none")
    parser.add_argument("--innermost", default="", help="function of the finding's first frame")
    parser.add_argument("--function", default="", help="name in the finding's stack")
    parser.add_argument("--file", default="", help="end of a source file in the finding's stack")
    parser.add_argument("--traces", action="append", default=[], help="text that the trace holds")
    parser.add_argument("--single-report", action="store_true", help="CUVMM_REPORT holds the finding too")
    parser.add_argument("command", nargs="+")
    return parser.parse_args()


def main() -> int:
    options = arguments()
    faults: list[str] = []

    def want(condition: bool, text: str) -> None:
        if not condition:
            faults.append(text)

    with tempfile.TemporaryDirectory(prefix="cuvmm-route-") as folder:
        reports_folder = pathlib.Path(folder, "reports")
        reports_folder.mkdir()
        log = pathlib.Path(folder, "driver.log")
        env = {k: v for k, v in os.environ.items() if not k.startswith("CUVMM_")}
        env |= {"LD_PRELOAD": ":".join(options.preload + [options.shim] + options.preload_after),
                "CUVMM_REPORT_DIR": str(reports_folder), "FAKE_DRIVER_LOG": str(log)}
        trace, single = pathlib.Path(folder, "trace"), pathlib.Path(folder, "single.json")
        if options.traces:
            env["CUVMM_TRACE"] = str(trace)
        if options.single_report:
            env["CUVMM_REPORT"] = str(single)
        if options.driver:
            env["CUVMM_DRIVER"] = options.driver
        env |= dict(setting.split("=", 1) for setting in options.env)
        run = subprocess.run(options.command, env=env, capture_output=True, text=True, timeout=60)
        print(run.stdout + run.stderr)
        files = sorted(reports_folder.iterdir())
        reports = [json.loads(file.read_text()) for file in files if file.suffix == ".json"]
        want(len(files) == len(reports), f"only whole reports in the folder: {files}")
        traced = trace.read_text() if trace.exists() else ""
        alone = json.loads(single.read_text()) if single.exists() else {"findings": []}
        forwarded = log.read_text().split() if log.exists() else []

    want(run.returncode == options.code, f"exit code {options.code}, not {run.returncode}")
    want(run.stdout == "", "nothing on stdout")
    for text in options.traces:
        want(text in traced, f"the trace holds {text}: {traced}")
    if options.single_report:
        want(len(alone["findings"]) > 0, f"CUVMM_REPORT holds the finding: {alone}")
    if options.silent:
        want(run.stderr == "", "nothing on stderr")
    for text in options.says:
        want(run.stderr.count(text) == 1, f"stderr says once: {text}")
    for name in options.not_forwarded:
        want(name not in forwarded, f"{name} does not reach the driver: {forwarded}")
    if options.maps is not None:
        seen = sorted(report["calls"].get("cuMemMap", 0) for report in reports)
        want(seen == sorted(options.maps), f"cuMemMap calls {options.maps}, not {seen}")
    findings = [f for report in reports for f in report["findings"] if f["rule"] == "cuMemMap-offset-zero"]
    if options.findings is not None:
        count = sum(f["count"] for f in findings)
        want(count == options.findings, f"{options.findings} findings, not {count}")
        want(all(f["result"] == options.result for f in findings), f"results {[f['result'] for f in findings]}")
        want(all(f["pid"] == r["pid"] for r in reports for f in r["findings"]), "findings carry their pid")
    if options.runtime is not None:
        named = [f.get("runtime", "none") for f in findings]
        want(all(name == options.runtime for name in named), f"runtime {options.runtime!r} in {named}")
    if options.innermost:
        first = [f["stack"][0]["function"] for f in findings]
        want(all(options.innermost in name for name in first), f"{options.innermost} first: {first}")
    frames = [frame for f in findings for frame in f["stack"]]
    if options.function:
        want(any(options.function in frame["function"] for frame in frames), f"{options.function} in {frames}")
    if options.file:
        want(any(frame.get("file", "").endswith(options.file) for frame in frames), f"{options.file} in {frames}")
    unchecked = [text for report in reports for text in report["unchecked"]]
    for text in options.unchecked:
        want(any(text in entry for entry in unchecked), f"unchecked names {text}: {unchecked}")
    want(len(set(unchecked)) == len(options.unchecked), f"nothing else is unchecked: {unchecked}")
    for name, count in (text.split("=") for text in options.calls):
        seen = sum(report["calls"].get(name, 0) for report in reports)
        want(seen == int(count), f"{count} calls of {name}, not {seen}")
    print("\n".join("FAULT: wanted " + fault for fault in faults) or "as wanted")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
