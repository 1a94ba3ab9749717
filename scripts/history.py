#!/usr/bin/env python3
"""What a history costs: its size, its CPU time, and how long it takes to open a day of it.

  history.py HUGEWISE [--processes 200] [--active 50] [--interval 5] [--seconds 300]

Starts so many processes, of which some work a little all the time, and records them. A day is made of
copies of what was recorded. Everything is in a directory of its own, which is removed."""
import argparse
import glob
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

DAY_S = 86_400
# Memory that changes, and a little of a CPU.
ACTIVE = """
import os, time
n = int(os.environ['N'])
memory = bytearray(4 << 20)
while True:
    for at in range(0, (1 + n % 7) << 18, 4096):
        memory[at] = (memory[at] + 1) % 256
    memory.extend(bytes(4096 * (n % 3)))
    if len(memory) > 8 << 20:
        memory = bytearray(4 << 20)
    time.sleep(0.2 + n / 100)
"""
IDLE = "import time; time.sleep(1e6)"


def start(count, code):
    return [subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "N": str(number)})
            for number in range(count)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("hugewise")
    for name, value in (("processes", 200), ("active", 50), ("interval", 5), ("seconds", 300)):
        parser.add_argument(f"--{name}", type=int, default=value)
    given = parser.parse_args()
    program, place = os.path.abspath(given.hugewise), tempfile.mkdtemp(prefix="hugewise-history-")
    children = []
    try:
        children = start(given.active, ACTIVE) + start(given.processes - given.active, IDLE)
        time.sleep(3)
        opening(program, place, cost(program, place, given))
    finally:
        for child in children:
            child.kill()
            child.wait()
        shutil.rmtree(place)


def cost(program, place, given):
    done = subprocess.run(
        [program, "record", "--history", place, "--every", f"{given.interval}s", "--json",
         "--for", f"{given.seconds}s", "--run-dir", f"{place}/run"],
        check=False, capture_output=True, text=True)
    said = json.loads(done.stdout)
    # The first sample of a file is packed by itself, and this is the last one alone.
    done = subprocess.run(
        [program, "record", "--history", place, "--from", "1s ago", "-o", f"{place}/piece", "--json"],
        check=False, capture_output=True, text=True)
    alone = json.loads(done.stdout)
    print(f"text of a sample: {alone['text_bytes'] / alone['samples'] / 1000:.0f} KB, packed by "
          f"itself {alone['bytes'] / alone['samples'] / 1000:.1f} KB")
    day = said["bytes"] / said["samples"] * DAY_S / given.interval
    print(f"{given.processes} processes, {given.active} of them active, every {given.interval} s, "
          f"{said['samples']} samples: {said['bytes'] / said['samples']:.0f} bytes a sample, "
          f"{day / 1e6:.1f} MB a day, {said['cpu_ms'] / given.seconds / 10:.2f} % of a core")
    return day


def opening(program, place, day):
    files = sorted(glob.glob(f"{place}/*.history"))
    with open(files[-1], "rb") as file:
        piece = file.read()
    # A file begins with a sample that stands alone, so that copies of it are a history, too.
    with open(files[-1], "ab") as file:
        for _ in range(int(day) // len(piece)):
            file.write(piece)
    times = []
    for _ in range(5):
        began = time.monotonic()
        subprocess.run([program, "status", "--history", place, "--json"], check=False,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        times.append(time.monotonic() - began)
    size = os.path.getsize(files[-1]) / 1e6
    print(f"a moment of a day of it ({size:.1f} MB) is shown after "
          f"{statistics.median(times):.3f} s [{min(times):.3f}..{max(times):.3f}]")


main()
