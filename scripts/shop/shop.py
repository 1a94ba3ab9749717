#!/usr/bin/env python3
"""A small shop with a fault, and whether 'hugewise investigate' finds it.

    shop.py HUGEWISE [FAULT...] [--times N] [--keep DIR]

nginx, an application server, Redis and PostgreSQL run as 'nobody' on loopback and sockets. One fault
after the other is put in, and all of them are tried as hypotheses: the right one must be accepted,
and every other one refuted. Needs root (cgroups), nginx (or its Debian package to download),
PostgreSQL, Redis and cgroups of version 1; ends with 77 and the reason where something is missing.
"""
import argparse
import json
import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

FAULTS = ("pool", "packets", "neighbour", "disk")
NOBODY = pwd.getpwnam("nobody")
CGROUPS = "/sys/fs/cgroup"
HERE = os.path.dirname(os.path.abspath(__file__))
PER_S = 110
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
length_s = 6
settle_ms = 1500

[[hypothesis]]
name = "pool"
because = "a pool of four connections is too small"
gain_percent = 30
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
because = "a limit on writes makes commits wait"
gain_percent = 30
apply = ["sh", "-c", "echo '{device} 0' > {throttle}"]
undo = ["sh", "-c", "echo '{device} {limit}' > {throttle}"]

[[hypothesis]]
name = "thp"
because = "page faults compact memory for huge pages"
gain_percent = 30
moves = {{ "thp.fault_alloc_per_s" = "-80%" }}
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
        self.directory, self.programs = directory, []
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
        self.write("pool", "32")
        self.start([f"{postgres}/initdb", "-D", self.path("db"), "-A", "trust", "-U", "postgres",
                    "--no-sync"]).wait()
        self.start([f"{postgres}/postgres", "-D", self.path("db"), "-k", self.directory,
                    "-c", "listen_addresses=", "-c", "max_connections=100",
                    # Else an order costs more after a checkpoint than before the next one.
                    "-c", "full_page_writes=off"], "blkio/shop-db")
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
  access_log off;
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
        for program in reversed(self.programs):
            program.terminate()
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
        shop.write("pool", "4")
    if fault == "packets":
        favour("cpu/shop-net")
        for _ in range(2 * os.cpu_count()):
            shop.start([PYTHON, "-c", PACKETS, "shop-packets"], "cpu/shop-net")
    if fault == "neighbour":
        favour("cpu/shop-batch")
        for _ in range(3 * os.cpu_count()):
            shop.start([PYTHON, "-c", "while True: pass", "shop-hog"], "cpu/shop-batch")
    if fault == "disk":
        limit(device, 200_000)


def favour(group):
    """Who is in it gets most of the CPUs, as a batch job with a large weight does."""
    with open(f"{CGROUPS}/{group}/cpu.shares", "w", encoding="ascii") as file:
        file.write("16384")


def removed(group):
    try:
        os.rmdir(group)
    except OSError:
        return False
    return True


def limit(device, bytes_per_s):
    path = f"{CGROUPS}/blkio/shop-db/blkio.throttle.write_bps_device"
    with open(path, "w", encoding="ascii") as file:
        file.write(f"{device} {bytes_per_s}")


def settings():
    names = ("transparent_hugepage/enabled", "transparent_hugepage/defrag")
    return [open(f"/sys/kernel/mm/{name}", encoding="ascii").read() for name in names]


def investigate(hugewise, shop, fault, device, keep):
    """The verdicts by hypothesis, and how long it took."""
    ledger = LEDGER.format(
        fault=fault, port=shop.port, per_s=PER_S, pool=shop.pool, device=device,
        size=4 if fault == "pool" else 32, limit=200_000 if fault == "disk" else 0,
        throttle=f"{CGROUPS}/blkio/shop-db/blkio.throttle.write_bps_device")
    path = os.path.join(keep, f"{fault}.toml")
    with open(path, "w", encoding="ascii") as file:
        file.write(ledger)
    began = time.time()
    command = [hugewise, "investigate", "run", path, "--machine-wide", "--json", "-o",
               os.path.join(keep, f"{fault}-trials"), "--state-dir", os.path.join(keep, "state")]
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


def one(hugewise, fault, nginx, postgres, keep):
    """Whether the fault is found, and all else refuted."""
    directory = tempfile.mkdtemp(prefix="hugewise-shop-")
    os.chown(directory, NOBODY.pw_uid, NOBODY.pw_gid)
    stat = os.stat("/")
    device = f"{os.major(stat.st_dev)}:{os.minor(stat.st_dev)}"
    before = settings()
    groups = [f"{CGROUPS}/{name}" for name in ("cpu/shop-batch", "cpu/shop-net", "blkio/shop-db")]
    for group in groups:
        os.makedirs(group, exist_ok=True)
    shop = Shop(directory)
    try:
        shop.open(nginx, postgres)
        put_in(shop, fault, device)
        found, seconds = investigate(hugewise, shop, fault, device, keep)
    finally:
        # Or PostgreSQL could not write what it still has to.
        limit(device, 0)
        shop.close()
        for group in groups:
            wait_for(f"the end of {group}", lambda: removed(group))
        shutil.rmtree(directory)
    right = found[fault]["verdict"] == "accepted"
    others = [name for name, one in found.items()
              if name != fault and one["verdict"] != "refuted"]
    same = settings() == before
    word = "found" if right and not others and same else "NOT FOUND"
    verdicts = ", ".join(f"{name} {one['verdict']}" for name, one in found.items())
    print(f"{fault}: {word} in {seconds / 60:.1f} min ({verdicts}; settings "
          f"{'as before' if same else 'NOT AS BEFORE'})", flush=True)
    return word == "found"


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("hugewise")
    arguments.add_argument("fault", nargs="*", choices=[*FAULTS, []])
    arguments.add_argument("--times", type=int, default=1)
    arguments.add_argument("--keep")
    given = arguments.parse_args()
    if os.geteuid() != 0:
        missing("it needs root")
    postgres = next((path for path in sorted(os.listdir("/usr/lib/postgresql"), reverse=True)
                     if os.path.exists(f"/usr/lib/postgresql/{path}/bin/initdb")), None) \
        if os.path.isdir("/usr/lib/postgresql") else None
    if not postgres or not shutil.which("redis-server") or not PYTHON:
        missing("no PostgreSQL, no Redis or no Python in /usr/bin")
    if not all(os.path.isdir(f"{CGROUPS}/{name}") for name in ("cpu", "blkio")):
        missing("no cgroups of version 1 with cpu and blkio")
    keep = given.keep or tempfile.mkdtemp(prefix="hugewise-shop-trials-")
    os.makedirs(keep, exist_ok=True)
    hugewise = os.path.abspath(given.hugewise)
    nginx = nginx_of(keep)
    good = True
    for number in range(given.times):
        for fault in given.fault or FAULTS:
            place = os.path.join(keep, str(number + 1))
            os.makedirs(place, exist_ok=True)
            good &= one(hugewise, fault, nginx, f"/usr/lib/postgresql/{postgres}/bin", place)
    print(f"Trials: {keep}")
    sys.exit(0 if good else 1)


main()
