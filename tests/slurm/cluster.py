"""A real Slurm on this machine alone: a controller and three nodes of two GPUs each (which are no GPUs).

It runs as any user, in a folder of its own and on free ports, and leaves no process behind.
"""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time

NODES = ("n1", "n2", "n3")
DAEMONS = ("munged", "slurmctld", "slurmd")
CLIENTS = ("sbatch", "squeue", "scontrol", "scancel", "sinfo")

CONFIGURATION = """\
ClusterName=try
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthInfo=socket={folder}/munge.socket,cred_expire=5
SlurmctldPort={controller}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
ReturnToService=2
SlurmdTimeout=5
KillWait=2
GresTypes=gpu
"""


class Unavailable(Exception):
    """Why there can be no cluster here."""


def wait_for(what, condition, seconds=60):
    """Polls; a machine may be slow, and nothing here depends on how slow."""
    patience = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > patience:
            raise AssertionError(f"after {seconds} s still not: {what}")
        time.sleep(0.05)


def find(name):
    path = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin:/usr/local/sbin")
    if path is None:
        raise Unavailable(f"there is no {name}; Debian has it in slurmctld, slurmd, slurm-client, munge")
    return path


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def alive(pid):
    """Whether the process runs; one that has ended and was not waited for does not."""
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def processes_with(text):
    """Ids of the processes of this user that have the text in their environment or command line."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            content = (entry / "environ").read_bytes() + (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if text.encode() in content and alive(int(entry.name)):
            found.append(int(entry.name))
    return found


def parent_of(pid):
    try:
        return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def command_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").replace("\0", " ")
    except OSError:
        return ""


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


class Cluster:
    def __init__(self):
        self.paths = {name: find(name) for name in DAEMONS + CLIENTS}
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hgemm_slurm."))
        self.folder.chmod(0o755)  # munged wants its socket to be in reach of all
        # "Local disks" of the nodes: in memory where possible, because SQLite waits for disks.
        in_memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.local = pathlib.Path(tempfile.mkdtemp(prefix="hgemm_slurm.", dir=in_memory))
        self.daemons = {}
        self.environment = dict(os.environ, SLURM_CONF=str(self.folder / "slurm.conf"),
                                TMPDIR=str(self.local))
        for name in list(self.environment):
            if name.startswith(("SLURM_", "SBATCH_", "SQUEUE_")) and name != "SLURM_CONF":
                del self.environment[name]

    # ---- Start and end ----

    def start(self):
        folder = self.folder
        (folder / "munge.key").write_bytes(os.urandom(128))
        (folder / "munge.key").chmod(0o400)
        for name in ("state", *(f"spool/{node}" for node in NODES)):
            (folder / name).mkdir(parents=True)
        controller, *nodes = free_ports(1 + len(NODES))
        host = socket.gethostname().split(".")[0]
        text = CONFIGURATION.format(host=host, folder=folder, user=_user_name(), controller=controller)
        for node, port in zip(NODES, nodes):
            text += (f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=4 "
                     "RealMemory=2000 Gres=gpu:2\n")
        text += f"PartitionName=gpu Nodes={','.join(NODES)} Default=YES MaxTime=INFINITE State=UP\n"
        text += f"PartitionName=cpu Nodes={','.join(NODES)} MaxTime=INFINITE State=UP\n"
        (folder / "slurm.conf").write_text(text)
        # Slurm counts a GPU only if it has a device file; any will do.
        (folder / "gres.conf").write_text("AutoDetect=off\n" + "".join(
            f"NodeName=n[1-3] Name=gpu File={device}\n" for device in ("/dev/null", "/dev/zero")))
        try:
            self._start("munged", "--foreground", f"--socket={folder}/munge.socket",
                        f"--key-file={folder}/munge.key", f"--pid-file={folder}/munge.pid",
                        f"--log-file={folder}/munge.log", f"--seed-file={folder}/munge.seed")
            wait_for("munge answers", (folder / "munge.socket").exists, 20)
            self.start_controller(clean=True)
            for node in NODES:
                self.start_node(node)
            wait_for("all nodes are idle", lambda: self.nodes() == {node: "idle" for node in NODES}, 40)
        except (AssertionError, OSError) as error:
            logs = "".join(f"{log.name}: {log.read_text(errors='replace')[-600:]}\n"
                           for log in sorted([*folder.glob("*.log"), *folder.glob("*.out")]))
            raise Unavailable(f"Slurm does not start here: {error}\n{logs}") from None

    def _start(self, name, *arguments, key=None):
        out = (self.folder / f"{key or name}.out").open("ab")
        self.daemons[key or name] = subprocess.Popen(
            [self.paths[name], *arguments], env=self.environment, stdin=subprocess.DEVNULL, stdout=out,
            stderr=out, start_new_session=True)
        out.close()

    def start_controller(self, clean=False):
        self._start("slurmctld", "-D", *(["-c"] if clean else []))
        wait_for("the controller answers", lambda: self.ask("scontrol", "ping").returncode == 0)

    def stop_controller(self):
        daemon = self.daemons.pop("slurmctld")
        daemon.terminate()
        daemon.wait(timeout=60)

    def start_node(self, node):
        self._start("slurmd", "-D", "-N", node, key=node)

    def stop(self, keep):
        # Daemons first: they would start other processes again.
        for daemon in self.daemons.values():
            kill(daemon.pid)
            daemon.wait()
        wait_for("no process is left", lambda: not [kill(pid) for pid in processes_with(str(self.folder))],
                 30)
        shutil.rmtree(self.local, ignore_errors=True)
        if not keep:
            shutil.rmtree(self.folder, ignore_errors=True)

    # ---- Questions and orders ----

    def ask(self, name, *arguments):
        return subprocess.run([self.paths[name], *arguments], env=self.environment, text=True,
                              capture_output=True, stdin=subprocess.DEVNULL, timeout=120, check=False)

    def nodes(self):
        """Node -> state, as sinfo has it: "idle", "mix", "down*" ..."""
        lines = self.ask("sinfo", "-h", "-N", "-p", "gpu", "-o", "%N %t").stdout.split("\n")
        return dict(line.split() for line in lines if line.strip())

    def queue(self):
        """(array or job id, index or N/A, state, node or reason) of all tasks."""
        lines = self.ask("squeue", "-h", "-r", "-o", "%F|%K|%T|%R").stdout.split("\n")
        return [tuple(line.split("|")) for line in lines if line.strip()]

    def running(self):
        return [task for task in self.queue() if task[2] == "RUNNING"]

    # ---- Faults ----

    def on_node(self, node):
        """Processes of jobs on a node, with the slurmstepd of each."""
        jobs = [pid for pid in processes_with(f"SLURMD_NODENAME={node}\0")
                if f"SLURM_CONF={self.folder}".encode() in _environment(pid)]
        steps = {parent_of(pid) for pid in jobs}
        return jobs, [pid for pid in steps if "slurmstepd" in command_of(pid)]

    def kill_node(self, node):
        """As if its power had gone. Killing slurmd alone would leave the jobs at work."""
        daemon = self.daemons.pop(node)
        kill(daemon.pid)
        daemon.wait()
        count = 0
        while True:
            jobs, steps = self.on_node(node)
            if not jobs and not steps:
                return count
            for pid in steps + jobs:
                kill(pid)
            count += len(steps)

    def tasks_at_work(self):
        """Process -> attempt, of each `slurm task` of a run."""
        found = {}
        for pid in processes_with(str(self.folder)):
            words = command_of(pid).split()
            if "task" in words and "--attempt" in words and "slurmstepd" not in words[0]:
                if not words[0].endswith("bash"):
                    found[pid] = words[words.index("--attempt") + 1]
        return found


def _environment(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


def _user_name():
    import pwd
    return pwd.getpwuid(os.getuid()).pw_name
