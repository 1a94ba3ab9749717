#!/usr/bin/python3
"""A slow site, and the tutorial that finds out why: docs/tutorial-walk.md.

    walk.py --open              opens the site, until Ctrl-C
    walk.py HUGEWISE            opens it, and runs each command of the tutorial

nginx, php-fpm with four workers behind a UNIX socket, Redis and PostgreSQL, of Debian's packages, in a
temporary directory, on sockets and one port of loopback, as you, or as 'nobody' where you are root.
Each page sleeps for 20 ms in its worker, and asks both stores. All of it ends with this program.

Of the tutorial, each block `sh walk` is run in the site's directory, in the order of the text, and
must exit as its first line says (`sh walk exits-3,4`; else 0). What an HTML comment `says: A | B` below it
names must be in what it printed. Ends with 77 and the reason where a program is missing.
"""
import argparse
import contextlib
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
TUTORIAL = os.path.join(HERE, "../docs/tutorial-walk.md")
# From symptom to proof.
MINUTES_MAX = 20

PAGE = """<?php
$redis = new Redis();
$redis->connect('{dir}/redis.sock');
$text = $redis->get('item') ?: str_repeat('x', 4000);
$redis->set('item', $text, 60);
$db = pg_connect('host={dir} user=shop dbname=postgres');
pg_query($db, 'select count(*) from pg_class');
usleep(20000);
echo $text;
"""

NGINX = """
daemon off; pid {dir}/nginx.pid; error_log {dir}/nginx-error.log warn; worker_processes 1;
events {{ worker_connections 4096; }}
http {{
  log_format timed '$remote_addr - - [$time_local] "$request" $status $body_bytes_sent '
                   'rt=$request_time uct="$upstream_connect_time" uht="$upstream_header_time" '
                   'urt="$upstream_response_time" ua="$upstream_addr"';
  access_log {dir}/access.log timed;
  client_body_temp_path {dir}/t1; proxy_temp_path {dir}/t2; fastcgi_temp_path {dir}/t3;
  uwsgi_temp_path {dir}/t4; scgi_temp_path {dir}/t5;
  server {{
    listen 127.0.0.1:{port} backlog=1024;
    location = /nginx {{ stub_status; access_log off; }}
    location = /fpm {{
      access_log off; include /etc/nginx/fastcgi_params; fastcgi_param SCRIPT_NAME /fpm;
      fastcgi_param SCRIPT_FILENAME /fpm; fastcgi_pass unix:{dir}/fpm-status.sock;
    }}
    location / {{
      include /etc/nginx/fastcgi_params; fastcgi_param SCRIPT_FILENAME {dir}/page.php;
      fastcgi_pass unix:{dir}/fpm.sock;
    }}
  }}
}}
"""

FPM = """
[global]
pid = {dir}/fpm.pid
error_log = {dir}/fpm.log
daemonize = no
process_control_timeout = 5s
[www]
listen = {dir}/fpm.sock
listen.backlog = 511
pm = static
pm.max_children = 4
pm.status_path = /fpm
pm.status_listen = {dir}/fpm-status.sock
"""

# The operator's own command: the size of the pool, and a reload that ends no request.
POOL = """#!/bin/sh -e
cd {dir}
sed -i "s/^pm.max_children = .*/pm.max_children = $1/" fpm.conf
kill -USR2 "$(cat fpm.pid)"
sleep 1
"""

# Users that come at random, so many a second, whether others are answered or not.
USERS = """
import random, sys, threading, time, urllib.request
url, per_s, seconds = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
def one():
    try:
        urllib.request.urlopen(url, timeout=30).read()
    except OSError:
        pass
end = time.time() + seconds
while time.time() < end:
    threading.Thread(target=one, daemon=True).start()
    time.sleep(random.expovariate(per_s))
"""


def missing(why):
    print(f"walk: SKIPPED: {why}")
    sys.exit(77)


def needed():
    """Where the programs are; ends where one is missing."""
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    found = {}
    for name, pattern in (("nginx", "nginx"), ("fpm", r"php-fpm\d.*"), ("redis", "redis-server"),
                          ("psql", "psql"), ("ss", "ss"), ("curl", "curl")):
        places = os.environ["PATH"].split(":")
        names = [f"{place}/{file}" for place in places if os.path.isdir(place)
                 for file in os.listdir(place) if re.fullmatch(pattern, file)]
        found[name] = names[0] if names else missing(f"no {name} here (scripts/deps.sh soak)")
    versions = "/usr/lib/postgresql"
    if not os.path.isdir(versions):
        missing("no PostgreSQL here (scripts/deps.sh soak)")
    found["postgres"] = f"{versions}/{max(os.listdir(versions), key=float)}/bin"
    modules = subprocess.run([found["fpm"], "-m"], stdout=subprocess.PIPE, check=True).stdout
    for module in (b"redis", b"pgsql"):
        if module not in modules.split():
            missing(f"php-fpm has no module {module.decode()} (scripts/deps.sh soak)")
    return found


def wait_for(what, ready, seconds=30):
    until = time.time() + seconds
    while not ready():
        if time.time() > until:
            raise TimeoutError(f"{what} is not ready after {seconds} s")
        time.sleep(0.1)


def as_nobody(directory):
    """Nothing of this needs root, and PostgreSQL refuses it."""
    if os.getuid() == 0:
        nobody = pwd.getpwnam("nobody")
        os.chown(directory, nobody.pw_uid, nobody.pw_gid)
        os.setgroups([])
        os.setgid(nobody.pw_gid)
        os.setuid(nobody.pw_uid)


class Site:
    """All its programs, in a directory that ends with them."""

    def __init__(self, directory, found):
        self.directory, self.found, self.programs = directory, found, []
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.environment = {"PATH": os.environ["PATH"], "LC_ALL": "C", "HOME": directory,
                            "SITE": f"http://127.0.0.1:{self.port}"}

    def path(self, name):
        return os.path.join(self.directory, name)

    def write(self, name, text, mode=0o644):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text.format(dir=self.directory, port=self.port))
        os.chmod(self.path(name), mode)

    def start(self, *command):
        log = open(self.path(f"log-{len(self.programs)}"), "wb")
        program = subprocess.Popen(
            command, cwd=self.directory, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
            env=self.environment, start_new_session=True)
        self.programs.append(program)
        return program

    def open(self):
        found, database = self.found, self.path("db")
        self.start(f"{found['postgres']}/initdb", "-D", database, "-A", "trust", "-U", "shop",
                   "--no-sync").wait()
        self.start(f"{found['postgres']}/postgres", "-D", database, "-k", self.directory,
                   "-c", "listen_addresses=", "-c", "fsync=off")
        self.start(found["redis"], "--port", "0", "--unixsocket", self.path("redis.sock"),
                   "--save", "")
        self.write("page.php", PAGE.replace("{dir}", self.directory).replace("{", "{{")
                   .replace("}", "}}"))
        self.write("fpm.conf", FPM)
        self.write("pool", POOL, 0o755)
        with open(self.path("users.py"), "w", encoding="utf-8") as file:
            file.write(USERS)
        self.write("nginx.conf", NGINX)
        self.start(found["fpm"], "-F", "-y", self.path("fpm.conf"))
        self.start(found["nginx"], "-c", self.path("nginx.conf"), "-e", self.path("nginx.log"))
        wait_for("the site", self.answers)

    def answers(self):
        try:
            page = f"http://127.0.0.1:{self.port}/"
            with urllib.request.urlopen(page, timeout=5) as answer:
                return len(answer.read()) == 4000
        except OSError:
            return False

    def close(self):
        for program in reversed(self.programs):
            # PostgreSQL would wait for its clients after a SIGTERM.
            program.send_signal(signal.SIGINT)
        for program in reversed(self.programs):
            try:
                program.wait(10)
            except subprocess.TimeoutExpired:
                program.kill()
                program.wait()


@contextlib.contextmanager
def site(hugewise):
    found = needed()
    directory = tempfile.mkdtemp(prefix="hugewise-walk-")
    if hugewise:
        # Wherever it was built, 'nobody' may run it.
        shutil.copy(hugewise, os.path.join(directory, "hugewise"))
    as_nobody(directory)
    one = Site(directory, found)
    try:
        one.open()
        yield one
    finally:
        one.close()
        shutil.rmtree(directory)


def blocks():
    """The commands of the tutorial: their exit code, and what must be in their output."""
    with open(TUTORIAL, encoding="utf-8") as file:
        text = file.read()
    pattern = re.compile(r"^```sh walk(?: exits-([\d,]+))?\n(.*?)^```\n(?:\n<!-- says: (.*?) -->)?",
                         re.MULTILINE | re.DOTALL)
    for code, command, says in pattern.findall(text):
        codes = [int(one) for one in (code or "0").split(",")]
        yield codes, command, [word.strip() for word in says.split("|") if word.strip()]


def walk(one, steps):
    """Runs the tutorial; what went wrong."""
    one.environment["PATH"] = f"{one.directory}:{one.environment['PATH']}"
    began, wrong, count = time.time(), [], 0
    for codes, command, says in steps:
        count += 1
        done = subprocess.run(["bash", "-c", command], cwd=one.directory, env=one.environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)
        said = done.stdout.decode(errors="replace")
        print(f"$ {command}{said}[{done.returncode}, {time.time() - began:.0f} s]\n", flush=True)
        flat = " ".join(said.split())
        lacks = [word for word in says if word not in flat]
        if done.returncode not in codes or lacks:
            wrong.append(f"{command.strip()}: exit {done.returncode}, not {codes}; lacks {lacks}")
    minutes = (time.time() - began) / 60
    if not count:
        wrong.append("the tutorial has no command to run")
    if minutes > MINUTES_MAX:
        wrong.append(f"{minutes:.0f} minutes are more than {MINUTES_MAX}")
    print(f"walk: {count} steps in {minutes:.1f} min, {len(wrong)} wrong")
    return wrong


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("hugewise", nargs="?")
    arguments.add_argument("--open", action="store_true")
    asked = arguments.parse_args()
    if not asked.open and not asked.hugewise:
        arguments.error("give the program, or --open")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    # As long as its file may be read.
    steps = list(blocks())
    with site(asked.hugewise) as one:
        if asked.open:
            print(f"cd {one.directory}; export SITE={one.environment['SITE']}\n"
                  "Ctrl-C ends the site.", flush=True)
            with contextlib.suppress(KeyboardInterrupt):
                signal.pause()
            return
        wrong = walk(one, steps)
    for what in wrong:
        print(f"walk: {what}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
