# SPDX-License-Identifier: Apache-2.0
"""Tests cuvmm doctor --preflight: outages that are simulated, each in every form, as the consumers of the forms read them.

Usage: preflight_test.py CUVMM SOURCE_FOLDER [unittest arguments]. Needs the emulator and its NVML in place. By a Python
that has tools/view/requirements.txt (what needs a package of it is skipped without it).
"""
import json
import os
import pathlib
import re
import resource
import stat
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import doctor_test  # noqa: E402
from doctor_test import GIB, LIBCUDA, Doctor, forbid_pidfd_getfd  # noqa: E402

FORMS = ("text", "json", "nagios", "slurm", "npd", "nvsentinel", "openmetrics")
ACTIONS = ("none", "drain", "reset", "restart-daemon", "change-container")
SEVERITIES = ("none", "warning", "critical")
# NVSentinel's message HealthEvents in the JSON form of protobuf: its fields, and the names of its actions.
EVENT = {
    "type": "object", "additionalProperties": False, "required": ["version", "events"],
    "properties": {"version": {"type": "integer", "minimum": 0}, "events": {"type": "array", "minItems": 1, "items": {
        "type": "object", "additionalProperties": False,
        "required": ["agent", "componentClass", "checkName", "isFatal", "isHealthy", "nodeName"],
        "properties": {
            "version": {"type": "integer"}, "agent": {"type": "string"}, "componentClass": {"type": "string"},
            "checkName": {"type": "string"}, "isFatal": {"type": "boolean"}, "isHealthy": {"type": "boolean"},
            "message": {"type": "string"},
            "recommendedAction": {"enum": ["NONE", "COMPONENT_RESET", "CONTACT_SUPPORT", "RUN_FIELDDIAG", "RESTART_VM",
                                           "RESTART_BM", "REPLACE_VM", "RUN_DCGMEUD", "RESTART_APP", "UNKNOWN"]},
            "errorCode": {"type": "array", "items": {"type": "string"}},
            "entitiesImpacted": {"type": "array", "items": {
                "type": "object", "additionalProperties": False,
                "properties": {"entityType": {"type": "string"}, "entityValue": {"type": "string"}}}},
            "metadata": {"type": "object", "additionalProperties": {"type": "string"}},
            "generatedTimestamp": {"type": "string", "format": "date-time"}, "nodeName": {"type": "string"},
            "processingStrategy": {"enum": ["UNSPECIFIED", "EXECUTE_REMEDIATION", "STORE_ONLY"]}}}}}}


class Preflight(Doctor):
    def forms(self, *arguments, **more):
        """Each form's exit code and text."""
        done = {form: self.run_("--preflight", "--form", form, *arguments, **more) for form in FORMS}
        for form, one in done.items():
            self.assertEqual(one.stderr, "", form)
        return {form: (one.returncode, one.stdout) for form, one in done.items()}

    def expect(self, severity, root, action, *arguments, **more):
        """Every form says that `root` is the worst trouble, how bad it is, and the action."""
        done = self.forms(*arguments, NODE_NAME="node-7", **more)
        whole = json.loads(done["json"][1])
        self.assertEqual((whole["severity"], whole["action"]), (severity, action), done["text"][1])
        self.assertEqual(whole["node"], "node-7")
        one = next(check for check in whole["checks"] if check["id"] == root)
        self.assertEqual((one["severity"], one["action"], one["because_of"]), (severity, action, ""))
        number = SEVERITIES.index(severity)
        self.assertEqual([done[form][0] for form in ("text", "json", "nagios")], [number] * 3)
        first = re.search(r"^  (\w+) +([a-z-]+): ", done["text"][1], re.M)
        self.assertEqual(first.groups(), (severity, root))
        state = ("OK", "WARNING", "CRITICAL")[number]
        self.assertRegex(done["nagios"][1], rf"\ACUVMM {state} - {root}\b[^|\n]*; action: {action} \| time=[0-9.]+s\n\Z")
        self.assertEqual(done["slurm"][0], 2 if severity == "critical" else 0)
        self.assertRegex(done["slurm"][1], rf"\Acuvmm preflight: {severity}: {root}")
        self.assertEqual(done["npd"][0], 1 if severity == "critical" else 0)
        self.assertTrue(done["npd"][1].startswith(f"{action}; {root}"), done["npd"][1])
        self.check_npd(done["npd"][1])
        self.check_events(done["nvsentinel"], severity, root, action)
        self.check_metrics(done["openmetrics"], number, root, action)
        return whole

    def check_npd(self, text):
        self.assertLessEqual(len(text.encode()), 80)
        self.assertEqual(text.count("\n"), 1)

    def check_events(self, done, severity, root, action):
        code, text = done
        surroundings = action in ("change-container", "restart-daemon")
        self.assertEqual(code, 0 if severity != "critical" else 2 if surroundings else 1)
        events = json.loads(text)
        try:
            import jsonschema
            jsonschema.validate(events, EVENT)
        except ImportError:
            pass
        worst = events["events"][0]
        if severity == "none":
            self.assertTrue(all(event["isHealthy"] for event in events["events"]))
            return
        self.assertEqual((worst["checkName"], worst["isHealthy"], worst["isFatal"], worst["nodeName"]),
                         (f"cuvmm-{root}", False, severity == "critical", "node-7"))
        # A container that was started in the wrong way is no reason to take the node away.
        self.assertEqual(worst["processingStrategy"] == "STORE_ONLY", action == "change-container")

    def check_metrics(self, done, number, root, action):
        code, text = done
        self.assertEqual(code, 0)
        try:
            from prometheus_client.openmetrics import parser as openmetrics
            from prometheus_client.parser import text_string_to_metric_families as older
        except ImportError:
            self.skipTest("needs prometheus-client")
        read = {}
        for families in (openmetrics.text_string_to_metric_families(text), older(text)):
            read = {(sample.name, *sorted(sample.labels.items())): sample.value
                    for family in families for sample in family.samples}
            self.assertEqual(read["cuvmm_preflight_severity",], number)
            if root:
                self.assertEqual(read["cuvmm_preflight_check_severity", ("check", root)], number)
            for name in ACTIONS[1:]:
                self.assertEqual(read["cuvmm_preflight_action", ("action", name)], name == action)
        statuses = [value for (name, *_), value in read.items() if name == "cuvmm_preflight_check"]
        self.assertEqual(sum(statuses) * 3, len(statuses))  # each check has one status


class Healthy(Preflight):
    def test_the_emulator_is(self):
        done = self.forms("--emulate")
        self.assertEqual([code for code, _ in done.values()], [0] * len(FORMS))
        self.assertRegex(done["text"][1], r"\Apreflight: all that is needed works \(driver, devices, vmm, fd\), [\d.]+ s\n\Z")
        self.assertEqual(done["slurm"][1], "")
        self.check_npd(done["npd"][1])
        self.check_events(done["nvsentinel"], "none", "", "none")
        self.check_metrics(done["openmetrics"], 0, "", "none")
        whole = json.loads(done["json"][1])
        self.assertEqual({check["severity"] for check in whole["checks"]}, {"none"})
        self.assertEqual([check["id"] for check in whole["checks"] if check["needed"]],
                         ["driver", "devices", "vmm", "fd"])

    def test_a_machine_without_a_second_device_or_a_fabric_is(self):
        self.assertEqual(self.run_("--preflight", "--emulate", CUVMM_DEVICES="1").returncode, 0)

    def test_what_nobody_can_know_is_no_trouble(self):
        done = self.forms("--emulate", "--need", "multicast")
        self.assertEqual({form: code for form, (code, _) in done.items()},
                         {"text": 3, "json": 3, "nagios": 3, "slurm": 0, "npd": 2, "nvsentinel": 0, "openmetrics": 0})
        self.assertIn("a needed check could not be made", done["text"][1])
        self.assertTrue(done["nagios"][1].startswith("CUVMM UNKNOWN - multicast: "))
        self.check_events(done["nvsentinel"], "none", "", "none")


class Outages(Preflight):
    def test_no_imex_channel(self):
        self.expect("critical", "imex-channels", "change-container", "--driver", self.library(LIBCUDA), "--need", "fabric",
                    "--root", self.machine(), NO_CHANNEL="1")

    def test_imex_daemon_is_down(self):
        root = self.machine()
        channel = pathlib.Path(root, "dev/nvidia-caps-imex-channels/channel3")
        channel.parent.mkdir()
        try:
            os.mknod(channel, stat.S_IFCHR | 0o666, os.makedev(self.MAJOR, 3))
            os.close(os.open(channel, os.O_RDWR))  # not where the file system is mounted without devices
        except OSError:
            self.skipTest("this user may not make and open a device node here")
        self.expect("critical", "fabric", "restart-daemon", "--driver", self.library(LIBCUDA), "--need", "fabric",
                    "--root", root, FAIL="cuMemImportFromShareableHandle=400")

    def test_fabric_manager_is_not_ready(self):
        for code in (802, 401):
            with self.subTest(code=code):
                self.expect("critical", "vmm", "restart-daemon", "--driver", self.library(LIBCUDA), "--need", "vmm",
                            FAIL=f"cuMemCreate={code}")
        self.expect("critical", "driver", "restart-daemon", "--driver", self.library("int cuInit(unsigned f) { return 802; }"))

    def test_seccomp(self):
        self.expect("warning", "pidfd", "change-container", "--emulate", limit=forbid_pidfd_getfd)
        self.expect("critical", "pidfd", "change-container", "--emulate", "--need", "vmm,pidfd", limit=forbid_pidfd_getfd)

    def test_descriptors(self):
        self.expect("warning", "nofile", "change-container", "--emulate",
                    limit=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)))

    def test_address_space(self):
        if resource.getrlimit(resource.RLIMIT_AS)[1] != resource.RLIM_INFINITY:
            self.skipTest("address space is limited")
        size = GIB + (64 << 20)
        self.expect("critical", "address-space", "change-container", "--emulate",
                    limit=lambda: resource.setrlimit(resource.RLIMIT_AS, (size, resource.RLIM_INFINITY)))

    def test_no_dev_shm(self):
        root = self.machine()
        pathlib.Path(root, "dev/shm").rmdir()
        self.expect("warning", "shm", "change-container", "--driver", self.library(LIBCUDA), "--root", root)

    def test_no_device_nodes(self):
        root = self.machine()
        pathlib.Path(root, "dev/nvidiactl").unlink()
        self.expect("critical", "device-nodes", "change-container", "--root", root,
                    "--driver", self.library("int cuInit(unsigned f) { return 100; }"))

    def test_hidden_devices(self):
        self.expect("critical", "driver", "change-container", "--emulate", CUDA_VISIBLE_DEVICES="-1")

    def test_no_kernel_module(self):
        root = self.machine()
        pathlib.Path(root, "proc/driver/nvidia/version").unlink()
        self.expect("critical", "kernel-module", "drain", "--root", root,
                    "--driver", self.library("int cuInit(unsigned f) { return 100; }"))

    def test_libraries_of_another_version(self):
        self.expect("critical", "driver", "drain", "--driver", self.library("int cuInit(unsigned f) { return 803; }"))

    def test_a_driver_that_hangs_or_crashes(self):
        for body in ("#include <unistd.h>\nint cuInit(unsigned f) { for (;;) pause(); }",
                     "#include <stdlib.h>\nint cuInit(unsigned f) { abort(); }"):
            self.expect("critical", "driver", "reset", "--driver", self.library(body), "--timeout", "1")

    def test_memory_that_cannot_be_mapped(self):
        self.expect("critical", "vmm", "reset", "--driver", self.library(LIBCUDA), FAIL="cuMemMap=214")

    MAJOR = 1  # of IMEX channels here; 1 and 3 are /dev/null, which opens

    def machine(self):
        """A folder that stands for the files of a machine with a driver and without IMEX channels."""
        root = pathlib.Path(self.folder, "root")
        files = {"proc/version": "Linux version 6.1.0\n", "proc/driver/nvidia/version": "NVRM version: x  580.159.04  y\n",
                 "proc/devices": f"Character devices:\n{self.MAJOR} nvidia-caps-imex-channels\n",
                 "dev/nvidiactl": "", "dev/nvidia-uvm": "", "dev/nvidia0": ""}
        for name, text in files.items():
            file = root / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        (root / "dev/shm").mkdir()
        return str(root)


class Usage(Preflight):
    def test_forms_need_a_preflight(self):
        self.assertEqual(self.run_("--emulate", "--form", "npd").returncode, 2)
        self.assertEqual(self.run_("--emulate", "--preflight", "--json", "--form", "npd").returncode, 2)
        done = self.run_("--emulate", "--preflight", "--form", "ndp")
        self.assertEqual(done.returncode, 2)
        self.assertIn("npd", done.stderr)

    def test_json_is_a_form(self):
        self.assertIn("severity", json.loads(self.run_("--emulate", "--preflight", "--json").stdout))

    def test_page_lists_the_forms(self):
        page = pathlib.Path(doctor_test.SOURCE, "docs", "doctor.md").read_text(encoding="utf-8")
        self.assertEqual(re.findall(r"^\| `([a-z]+)` \|", page.split("## Preflight")[1], re.M), list(FORMS))

    def test_page_has_a_plugin_that_runs(self):
        page = pathlib.Path(doctor_test.SOURCE, "docs", "doctor.md").read_text(encoding="utf-8")
        block = re.search(r'^    \{"plugin": "custom".*?(?=^$)', page, re.M | re.S)[0]
        plugin = json.loads(block)
        rule, = plugin["rules"]
        self.assertIn(rule["condition"], [condition["type"] for condition in plugin["conditions"]])
        done = self.run_("--emulate", *rule["args"][1:])
        self.assertEqual((rule["args"][0], done.returncode), ("doctor", 0), done.stderr)
        self.assertLessEqual(len(done.stdout.rstrip("\n").encode()), plugin["pluginConfig"]["max_output_length"])


if __name__ == "__main__":
    doctor_test.CUVMM, doctor_test.SOURCE = (os.path.abspath(sys.argv.pop(1)) for _ in range(2))
    unittest.main()
