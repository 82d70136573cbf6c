# SPDX-License-Identifier: Apache-2.0
"""The Slurm templates on a real slurmctld with three slurmds on this machine: slurm_test.py CUVMM.

Needs slurmctld, slurmd and slurm-client of Debian; exits with 77 where they are missing. One node is killed in the middle.
"""

import getpass
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
SKIPPED = 77
SHARDS = 9
NODES = 3

CONFIGURATION = """
ClusterName=cuvmm
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/none
CredType=cred/none
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmdLogFile={folder}/%n.log
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmctldPidFile={folder}/slurmctld.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/linear
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SlurmdTimeout=300
MinJobAge=3600
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=10 State=UP
"""


def free_ports(count):
    held = [socket.socket() for _ in range(count)]
    for each in held:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in held]
    for each in held:
        each.close()
    return ports


class Cluster:
    def __init__(self, folder):
        self.folder, self.daemons = folder, {}
        (folder / "state").mkdir()
        first, *ports = free_ports(1 + NODES)
        host = socket.gethostname().split(".")[0]
        nodes = "\n".join(f"NodeName=n{i} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=1 State=UNKNOWN"
                          for i, port in enumerate(ports, 1))
        for i in range(1, NODES + 1):
            (folder / f"spool-n{i}").mkdir()
        (folder / "slurm.conf").write_text(CONFIGURATION.format(folder=folder, port=first, user=getpass.getuser(), host=host,
                                                                nodes=nodes))
        self.environment = os.environ | {"SLURM_CONF": str(folder / "slurm.conf")}

    def start(self, name, *command):
        log = open(self.folder / f"{name}.out", "ab")  # pylint: disable=consider-using-with
        self.daemons[name] = subprocess.Popen(command, env=self.environment, stdout=log, stderr=log)

    def start_node(self, name, *more):
        self.start(name, "slurmd", "-D", "-N", name, *more)

    def ask(self, *command):
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False, timeout=60)

    def stop(self):
        for daemon in self.daemons.values():
            daemon.send_signal(signal.SIGKILL)
            daemon.wait()

    def wait_until(self, condition, what):
        for _ in range(1200):
            if condition():
                return
            time.sleep(0.1)
        for log in sorted(self.folder.glob("*.log")) + sorted(self.folder.glob("*.out")):
            print(f"== {log.name}\n{log.read_text(errors='replace')[-1500:]}")
        raise AssertionError("waited two minutes in vain: " + what)


def submit(cluster, environment, *command):
    done = subprocess.run(["sbatch", "--parsable", *command], env=cluster.environment | environment, capture_output=True,
                          text=True, check=False, timeout=60, cwd=cluster.folder)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def main(cuvmm):
    if not all(shutil.which(each, path=os.environ["PATH"] + ":/usr/sbin") for each in ("slurmctld", "slurmd", "sbatch")):
        print("no Slurm here: skipped")
        return SKIPPED
    os.environ["PATH"] += ":/usr/sbin"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        cluster = Cluster(folder)
        try:
            return check(cluster, folder, cuvmm)
        finally:
            cluster.stop()


def check(cluster, folder, cuvmm):
    cluster.start("slurmctld", "slurmctld", "-D", "-i")
    nodes = [f"n{i}" for i in range(1, NODES + 1)]
    for node in nodes:
        cluster.start_node(node)
    cluster.wait_until(lambda: cluster.ask("sinfo", "-h", "-N", "-o", "%T").stdout.split() == ["idle"] * NODES, "idle nodes")

    results = folder / "results"
    environment = {"CUVMM": cuvmm, "CUVMM_RESULTS": str(results)}
    array = submit(cluster, environment, f"--array=1-{SHARDS}", str(HERE / "slurm.sbatch"), "--emulate", "--conformance")
    merge = submit(cluster, environment, f"--dependency=afterany:{array}", str(HERE / "slurm_merge.sbatch"))

    # A node that dies while it is at a shard: what runs there goes back into the queue.
    cluster.wait_until(lambda: [*results.rglob("*.part"), *results.rglob("*.json")], "a shard that began")
    victim = cluster.daemons["n2"]
    cluster.ask("scontrol", "update", "NodeName=n2", "State=DOWN", "Reason=killed")
    victim.send_signal(signal.SIGKILL)
    victim.wait()
    # -c: it forgets the job that it had. Else it may refuse to do it again ("already running"), and nobody tells Slurm.
    cluster.start_node("n2", "-c")
    cluster.ask("scontrol", "update", "NodeName=n2", "State=RESUME")

    def merged_now():
        # Slurm lets what it requeued wait for two minutes.
        for job in cluster.ask("squeue", "-h", "-r", "-t", "PD", "-j", array, "-o", "%i").stdout.split():
            cluster.ask("scontrol", "update", f"JobId={job}", "StartTime=now")
        return "COMPLETED" in cluster.ask("scontrol", "show", "job", merge).stdout

    cluster.wait_until(merged_now, "the merge's end")
    merged = json.loads((folder / "results.json").read_text())
    print({key: merged[key] for key in ("cases", "results", "files", "repeated", "missing", "findings", "outliers")})
    requeued = (folder / "slurmctld.out").read_text().lower().count("requeue")
    print(f"{requeued} lines of slurmctld's log are about what was requeued")
    assert merged["missing"] == [] and merged["findings"] == [] and merged["outliers"] == [], merged
    listed = subprocess.run([cuvmm, "conform", "--list"], capture_output=True, text=True, check=True).stdout.split("\n")
    assert merged["cases"] == len([each for each in listed if each]), (merged["cases"], len(listed))
    return 0


if __name__ == "__main__":
    sys.exit(main(str(pathlib.Path(sys.argv[1]).resolve())))
