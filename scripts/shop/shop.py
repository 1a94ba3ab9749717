#!/usr/bin/env python3
"""A small shop with a fault, and whether 'hugewise investigate' finds it.

    shop.py HUGEWISE [FAULT...] [--times N] [--kill] [--keep DIR]
    shop.py --open FAULT

nginx, an application server, Redis and PostgreSQL run as 'nobody' on loopback and sockets. One
fault after the other is put in, and all are tried as hypotheses: the right one must be accepted,
every other one refuted, and everything as before in the end. With --kill hugewise is killed in the
middle of a trial; what it left is put back, and the investigation goes on. With --open the shop is
yours until Ctrl-C: with one fault, or with 'none'.

Needs root, nginx (or its Debian package to download), PostgreSQL, Redis and cgroups of version 1;
ends with 77 and the reason where something is missing.
"""
import argparse
import contextlib
import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

FAULTS = ("pool", "packets", "neighbour", "disk", "thp")
NOBODY = pwd.getpwnam("nobody")
CGROUPS = "/sys/fs/cgroup"
HERE = os.path.dirname(os.path.abspath(__file__))
PER_S = 110
# Writes of the database in a second under the fault 'disk'. Commits share them: they wait, and none
# is left behind. Half as many are too few now and then: trials differ as much as hypotheses do.
WRITES_PER_S = 40
THROTTLE = "blkio/shop-db/blkio.throttle.write_iops_device"
THP = "/sys/kernel/mm/transparent_hugepage"
# One that 'nobody' may run, wherever this one is.
PYTHON = shutil.which("python3", path="/usr/bin:/usr/local/bin")

LEDGER = """
name = "shop-{fault}"
question = "Why is the shop slow?"

[service]
target = "http://127.0.0.1:{port}/item"
per_s = {per_s}
connections = 200
timeout_ms = 30000

[goal]
metric = "p99_us"

[trials]
length_s = 10
settle_ms = 1500
repetitions = 9

[[hypothesis]]
name = "pool"
because = "a pool of four connections is too small"
gain_percent = 30
moves = {{ achieved_per_s = "+10%" }}
apply = ["sh", "-c", "echo 32 > {pool}"]
undo = ["sh", "-c", "echo {size} > {pool}"]

[[hypothesis]]
name = "packets"
because = "a stream of small packets keeps a CPU in the network stack"
gain_percent = 30
moves = {{ "net.rx_packets_per_s" = "-80%" }}
apply = ["sh", "-c", "pkill -STOP -f [s]hop-packets || true"]
undo = ["sh", "-c", "pkill -CONT -f [s]hop-packets || true"]

[[hypothesis]]
name = "neighbour"
because = "a neighbour in the cgroup 'shop-batch' takes the CPU"
gain_percent = 30
moves = {{ "cpu.user_percent" = "-30%" }}
set = {{ "cgroup/cpu/shop-batch/cpu.cfs_quota_us" = "5000" }}

[[hypothesis]]
name = "disk"
because = "a slow disk makes commits wait"
gain_percent = 30
moves = {{ "disk.writes_per_s" = "+100%" }}
apply = ["sh", "-c", "echo '{device} 0' > {throttle}"]
undo = ["sh", "-c", "echo '{device} {limit}' > {throttle}"]

[[hypothesis]]
name = "thp"
because = "page faults compact memory for huge pages"
gain_percent = 30
moves = {{ "compaction.stalls_per_s" = "-80%" }}
set = {{ enabled = "never" }}
"""


def missing(why):
    print(f"shop: SKIPPED: {why}")
    sys.exit(77)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(what, ready, seconds=30):
    until = time.time() + seconds
    while not ready():
        if time.time() > until:
            raise TimeoutError(f"{what} is not ready after {seconds} s")
        time.sleep(0.1)


class Shop:
    """All its programs, ended with it."""

    def __init__(self, directory):
        self.directory, self.programs, self.holes = directory, [], None
        self.port = free_port()
        self.pool = os.path.join(directory, "pool")

    def path(self, name):
        return os.path.join(self.directory, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="ascii") as file:
            file.write(text)
        os.chown(self.path(name), NOBODY.pw_uid, NOBODY.pw_gid)

    def start(self, command, group=None):
        """A program of 'nobody', in a cgroup of a controller where one is named."""
        def enter():
            if group:
                with open(f"{CGROUPS}/{group}/cgroup.procs", "w", encoding="ascii") as file:
                    file.write(str(os.getpid()))
            os.setgroups([])
            os.setgid(NOBODY.pw_gid)
            os.setuid(NOBODY.pw_uid)
        log = open(self.path(f"log-{len(self.programs)}"), "wb")
        program = subprocess.Popen(
            command, cwd=self.directory, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
            preexec_fn=enter, env={"PATH": os.environ["PATH"], "LC_ALL": "C"})
        self.programs.append(program)
        return program

    def open(self, nginx, postgres):
        # A log in one piece: the next piece is written as a whole, which holds up commits on a slow
        # disk once a minute.
        self.start([f"{postgres}/initdb", "-D", self.path("db"), "-A", "trust", "-U", "postgres",
                    "--no-sync", "--wal-segsize=512"]).wait()
        self.start([f"{postgres}/postgres", "-D", self.path("db"), "-k", self.directory,
                    "-c", "listen_addresses=", "-c", "max_connections=100",
                    # Else an order costs more after a checkpoint than before the next one, and
                    # trials differ by what the database writes besides.
                    "-c", "full_page_writes=off", "-c", "checkpoint_timeout=1h",
                    "-c", "max_wal_size=8GB", "-c", "autovacuum=off"], "blkio/shop-db")
        database = self.path(".s.PGSQL.5432")
        wait_for("PostgreSQL", lambda: os.path.exists(database))
        time.sleep(1)
        tables = ("CREATE TABLE items AS SELECT id, repeat('x', 400) AS text FROM "
                  "generate_series(1, 10000) AS id; CREATE INDEX ON items (id); "
                  "CREATE TABLE orders (item int, text text)")
        subprocess.run(["psql", "-h", self.directory, "-U", "postgres", "-q", "-c", tables],
                       check=True)
        self.start(["redis-server", "--port", "0", "--unixsocket", self.path("redis"), "--save",
                    "", "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"])
        wait_for("Redis", lambda: os.path.exists(self.path("redis")))
        inner = free_port()
        with open(f"{HERE}/app.py", encoding="ascii") as file:
            self.write("app.py", file.read())
        self.start([PYTHON, "app.py", str(inner), database, self.path("redis"), self.pool])
        self.write("nginx.conf", f"""
daemon off; pid {self.path('nginx.pid')}; error_log {self.path('nginx.log')};
worker_processes 1;
events {{ worker_connections 4096; }}
http {{
  log_format times '$remote_addr - - [$time_local] "$request" $status $body_bytes_sent '
                   'request_time=$request_time upstream_addr=$upstream_addr '
                   'upstream_response_time=$upstream_response_time';
  access_log {self.path('access.log')} times;
  client_body_temp_path {self.path('t1')}; proxy_temp_path {self.path('t2')};
  fastcgi_temp_path {self.path('t3')}; uwsgi_temp_path {self.path('t4')};
  scgi_temp_path {self.path('t5')};
  upstream app {{ server 127.0.0.1:{inner}; keepalive 200; }}
  server {{
    listen 127.0.0.1:{self.port} backlog=1024;
    location / {{
      proxy_pass http://app; proxy_http_version 1.1; proxy_set_header Connection "";
    }}
  }}
}}
""")
        self.start([nginx, "-c", self.path("nginx.conf"), "-e", self.path("nginx.log")])
        wait_for("the shop", self.answers)

    def answers(self):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/item", timeout=5) as page:
                return len(page.read()) == 4096
        except OSError:
            return False

    def close(self):
        if self.holes:
            self.holes.kill()
            self.holes.wait()
        for program in reversed(self.programs):
            # PostgreSQL would wait for its clients after a SIGTERM.
            program.send_signal(signal.SIGINT)
        for program in reversed(self.programs):
            try:
                program.wait(10)
            except subprocess.TimeoutExpired:
                program.kill()
                program.wait()


PACKETS = """
import socket, sys
to = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
to.bind(("127.0.0.1", 0))
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
out.connect(to.getsockname())
while True:
    try:
        out.send(b"x")
    except OSError:
        pass
"""


def put_in(shop, fault, device):
    """The fault; its programs end with the shop."""
    if fault == "pool":
        shop.write("pool", "4\n")
    if fault == "packets":
        favour("cpu/shop-net")
        for _ in range(2 * os.cpu_count()):
            shop.start([PYTHON, "-c", PACKETS, "shop-packets"], "cpu/shop-net")
    if fault == "neighbour":
        favour("cpu/shop-batch")
        for _ in range(3 * os.cpu_count()):
            shop.start([PYTHON, "-c", "while True: pass", "shop-hog"], "cpu/shop-batch")
    if fault == "disk":
        limit(device, WRITES_PER_S)
    if fault == "thp":
        shop.holes = subprocess.Popen([PYTHON, f"{HERE}/holes.py", "256"],
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        if shop.holes.stdout.readline() != b"ready\n":
            raise RuntimeError("free memory cannot be fragmented")
        for name in ("enabled", "defrag"):
            put(f"{THP}/{name}", "always")


def put(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def favour(group):
    """Who is in it gets most of the CPUs, as a batch job with a large weight does."""
    put(f"{CGROUPS}/{group}/cpu.shares", "16384")


def removed(group):
    try:
        os.rmdir(group)
    except OSError:
        return False
    return True


def limit(device, writes_per_s):
    """0: none."""
    put(f"{CGROUPS}/{THROTTLE}", f"{device} {writes_per_s}")


def settings(shop):
    """What hypotheses change."""
    files = [shop.pool, f"{THP}/enabled", f"{THP}/defrag", f"{CGROUPS}/{THROTTLE}",
             f"{CGROUPS}/cpu/shop-batch/cpu.cfs_quota_us"]
    return {name: open(name, encoding="ascii").read() for name in files}


def restore(before):
    """Of the THP settings only: the cgroups end with the shop."""
    for name in (f"{THP}/enabled", f"{THP}/defrag"):
        chosen = before[name][before[name].index("[") + 1:before[name].index("]")]
        put(name, chosen)


def ledger(shop, fault, device):
    return LEDGER.format(
        fault=fault, port=shop.port, per_s=PER_S, pool=shop.pool, device=device,
        size=4 if fault == "pool" else 32, limit=WRITES_PER_S if fault == "disk" else 0,
        throttle=f"{CGROUPS}/{THROTTLE}")


def killed(command, revert, shop, as_it_was):
    """Ends hugewise in the middle of a change, and has that put back."""
    program = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    wait_for("a change", lambda: settings(shop) != as_it_was, 120)
    program.kill()
    program.wait()
    subprocess.run(revert, check=True)
    if settings(shop) != as_it_was:
        raise RuntimeError(f"after a kill: {settings(shop)}, and it was {as_it_was}")


def investigate(hugewise, shop, fault, device, keep, kill):
    """The verdicts by hypothesis, and how long it took."""
    path = os.path.join(keep, f"{fault}.toml")
    put(path, ledger(shop, fault, device))
    began = time.time()
    state = ["--state-dir", os.path.join(keep, "state")]
    command = [hugewise, "investigate", "run", path, "--machine-wide", "--json", "-o",
               os.path.join(keep, f"{fault}-trials"), *state]
    if kill:
        killed(command, [hugewise, "revert", "--all", *state], shop, settings(shop))
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if done.returncode not in (0, 5):
        raise RuntimeError(f"hugewise ended with {done.returncode}")
    found = json.loads(done.stdout)
    return {one["name"]: one for one in found["hypotheses"]}, time.time() - began


def nginx_of(directory):
    found = shutil.which("nginx")
    if found:
        return found
    fetched = subprocess.run(["apt-get", "download", "nginx"], cwd=directory, check=False,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    packages = [name for name in os.listdir(directory) if name.endswith(".deb")]
    if fetched.returncode != 0 or not packages:
        missing("no nginx, and its Debian package cannot be fetched")
    subprocess.run(["dpkg", "-x", packages[0], "nginx"], cwd=directory, check=True)
    return os.path.join(directory, "nginx/usr/sbin/nginx")


@contextlib.contextmanager
def faulty(fault, nginx, postgres):
    """A shop with the fault, and the disk; everything is as before at its end."""
    directory = tempfile.mkdtemp(prefix="hugewise-shop-")
    os.chown(directory, NOBODY.pw_uid, NOBODY.pw_gid)
    stat = os.stat("/")
    device = f"{os.major(stat.st_dev)}:{os.minor(stat.st_dev)}"
    groups = [f"{CGROUPS}/{name}" for name in ("cpu/shop-batch", "cpu/shop-net", "blkio/shop-db")]
    for group in groups:
        os.makedirs(group, exist_ok=True)
    shop = Shop(directory)
    shop.write("pool", "32\n")
    before = settings(shop)
    try:
        shop.open(nginx, postgres)
        put_in(shop, fault, device)
        yield shop, device
    finally:
        restore(before)
        # Or PostgreSQL could not write what it still has to.
        limit(device, 0)
        shop.close()
        for group in groups:
            wait_for(f"the end of {group}", lambda: removed(group))
        shutil.rmtree(directory)


def one(hugewise, fault, nginx, postgres, keep, kill):
    """Whether the fault is found, and all else refuted."""
    with faulty(fault, nginx, postgres) as (shop, device):
        before = settings(shop)
        found, seconds = investigate(hugewise, shop, fault, device, keep, kill)
        same = settings(shop) == before
    right = found[fault]["verdict"] == "accepted"
    others = [name for name, one in found.items()
              if name != fault and one["verdict"] != "refuted"]
    word = "found" if right and not others and same else "NOT FOUND"
    verdicts = ", ".join(f"{name} {one['verdict']}" for name, one in found.items())
    print(f"{fault}: {word} in {seconds / 60:.1f} min ({verdicts}; settings "
          f"{'as before' if same else 'NOT AS BEFORE'})", flush=True)
    return word == "found"


def keep_open(fault, nginx, postgres):
    with faulty(fault, nginx, postgres) as (shop, device):
        path = shop.path("shop.toml")
        put(path, ledger(shop, fault, device))
        print(f"http://127.0.0.1:{shop.port}/item\nAccess log: {shop.path('access.log')}\n"
              f"Ledger: {path}\nCtrl-C ends the shop.", flush=True)
        signal.pause()


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("hugewise", nargs="?")
    arguments.add_argument("fault", nargs="*", choices=[*FAULTS, []])
    arguments.add_argument("--open", choices=[*FAULTS, "none"])
    arguments.add_argument("--times", type=int, default=1)
    arguments.add_argument("--kill", action="store_true")
    arguments.add_argument("--keep")
    given = arguments.parse_args()
    if not given.hugewise and not given.open:
        arguments.error("HUGEWISE, the program to try, is missing")
    if os.geteuid() != 0:
        missing("it needs root")
    for number in (signal.SIGINT, signal.SIGTERM):
        # A shell's background jobs are deaf to the first of them otherwise.
        signal.signal(number, lambda *_: sys.exit(130))
    postgres = next((path for path in sorted(os.listdir("/usr/lib/postgresql"), reverse=True)
                     if os.path.exists(f"/usr/lib/postgresql/{path}/bin/initdb")), None) \
        if os.path.isdir("/usr/lib/postgresql") else None
    if not postgres or not shutil.which("redis-server") or not PYTHON:
        missing("no PostgreSQL, no Redis or no Python in /usr/bin")
    if not all(os.path.isdir(f"{CGROUPS}/{name}") for name in ("cpu", "blkio")):
        missing("no cgroups of version 1 with cpu and blkio")
    keep = given.keep or tempfile.mkdtemp(prefix="hugewise-shop-trials-")
    os.makedirs(keep, exist_ok=True)
    # 'nobody' runs an nginx from here.
    os.chmod(keep, 0o755)
    nginx, postgres = nginx_of(keep), f"/usr/lib/postgresql/{postgres}/bin"
    if given.open:
        try:
            keep_open(given.open, nginx, postgres)
        finally:
            # Of the trials that there are none of.
            if not given.keep:
                shutil.rmtree(keep)
    hugewise, good = os.path.abspath(given.hugewise), True
    for number in range(given.times):
        for fault in given.fault or FAULTS:
            place = os.path.join(keep, str(number + 1))
            os.makedirs(place, exist_ok=True)
            good &= one(hugewise, fault, nginx, postgres, place, given.kill)
    print(f"Trials: {keep}")
    sys.exit(0 if good else 1)


main()
