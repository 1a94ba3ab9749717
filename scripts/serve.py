#!/usr/bin/env python3
"""What `hugewise serve` and `hugewise top` cost beside a thousand programs: serve.py HUGEWISE

256 of the programs have 34 MiB each, as many as a manager looks at, and the others 1 MiB: 10 GiB in
all. The page is asked once a second for half a minute, as a visitor's browser does. Needs root.
"""

import json
import mmap
import os
import pty
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

SECONDS = 30


def program(mib):
    """A process that holds that much memory; its pid."""
    pid = os.fork()
    if pid == 0:
        memory = mmap.mmap(-1, mib << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        for at in range(0, len(memory), 4096):
            memory[at] = 1
        signal.pause()
    return pid


def cpu_s(pids):
    """CPU time of these processes."""
    fields = [open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split() for pid in pids]
    return sum(int(one[11]) + int(one[12]) for one in fields) / os.sysconf("SC_CLK_TCK")


def share(pids, work):
    """Percent of a core that they use while `work` goes on."""
    before, began = cpu_s(pids), time.monotonic()
    work()
    return 100 * (cpu_s(pids) - before) / (time.monotonic() - began)


def served(program, folder):
    places = ["--state-dir", folder, "--run-dir", folder, "--history", folder + "/none"]
    command = [program, "--json", "serve", "--listen", "127.0.0.1:0", *places]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    page = json.loads(server.stdout.readline())["page"]
    base, token = page.split("?token=")
    children = f"/proc/{server.pid}/task/{server.pid}/children"
    both = [server.pid, int(open(children).read())]

    def ask(path):
        request = urllib.request.Request(base + path)
        request.add_header("Authorization", "Bearer " + token)
        began = time.monotonic()
        answer = urllib.request.urlopen(request).read()
        return time.monotonic() - began, answer

    def visited(path, times):
        def work():
            for _ in range(SECONDS):
                times.append(ask(path)[0])
                time.sleep(1)
        return work

    for _ in range(SECONDS):
        told = json.loads(ask("api/v1/status")[1])
        time.sleep(1)
    shown = len(told["processes"]) + told["processes_not_shown"]
    for path in ["api/v1/status", "metrics"]:
        times = []
        percent = share(both, visited(path, times))
        low, most = 1000 * statistics.median(times), 1000 * max(times)
        print(f"serve, /{path} once a second, {shown} programs: {percent:.1f} % of a core, "
              f"an answer takes {low:.0f} ms, {most:.0f} at most")
    server.terminate()
    server.wait()


def topped(program, folder):
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm", LINES="50", COLUMNS="160")
        os.execv(program, [program, "top", "--state-dir", folder, "--run-dir", folder])

    def read(seconds):
        end = time.monotonic() + seconds
        os.set_blocking(terminal, False)
        while time.monotonic() < end:
            try:
                os.read(terminal, 1 << 16)
            except BlockingIOError:
                time.sleep(0.02)

    read(SECONDS)
    print(f"top: {share([pid], lambda: read(SECONDS)):.1f} % of a core")
    os.kill(pid, signal.SIGTERM)
    os.waitpid(pid, 0)


def main():
    binary = os.path.abspath(sys.argv[1])
    programs = [program(34 if number < 256 else 1) for number in range(1000)]
    try:
        # Until all of it is touched, and a scan has seen it.
        time.sleep(SECONDS)
        with tempfile.TemporaryDirectory() as folder:
            served(binary, folder)
            topped(binary, folder)
    finally:
        for pid in programs:
            os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    main()
