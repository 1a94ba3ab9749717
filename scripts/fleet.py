#!/usr/bin/env python3
"""How fast `hugewise diagnose --fleet` reads: fleet.py HUGEWISE [OTHER HUGEWISE]

Writes a day of `sar -A` for each of 200 hosts, made of one sample of this machine under other times,
and has each program read all of them five times in turn. Prints the CPU time, and MB a second of it."""
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile

HOSTS, SAMPLES, ROUNDS = 200, 144, 5


def tables():
    """Header and rows of each table of one sample, without times."""
    text = subprocess.run(["sar", "-A", "1", "1"], env={**os.environ, "LC_ALL": "C"},
                          capture_output=True, text=True, check=True).stdout
    first, *lines = text.splitlines()
    found = []
    for line in lines:
        row = re.match(r"\d\d:\d\d:\d\d\s+(.*)", line)
        if row and re.search(r"[A-Za-z]$", row[1]) and not re.match(r"all\b|\d|-", row[1]):
            found.append((row[1], []))
        elif row and found:
            found[-1][1].append(row[1])
    return first, found


def day(found):
    lines = []
    for header, rows in found:
        lines.append(f"00:00:01        {header}")
        for sample in range(1, SAMPLES):
            time = f"{sample // 6:02}:{sample % 6 * 10:02}:01"
            lines += [f"{time}        {row}" for row in rows]
        lines.append("")
    return "\n".join(lines)


def cpu_s(program, listed):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([program, "diagnose", "--fleet", listed, "--json"],
                          stdout=subprocess.DEVNULL, check=False)
    if done.returncode not in (0, 3, 4, 5):
        sys.exit(f"{program} ended with {done.returncode}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    programs = [os.path.abspath(program) for program in sys.argv[1:]]
    first, found = tables()
    text = day(found)
    with tempfile.TemporaryDirectory(prefix="hugewise-fleet-") as place:
        names = [f"{place}/host{number}.sar" for number in range(HOSTS)]
        for number, name in enumerate(names):
            with open(name, "w") as file:
                file.write(re.sub(r"\(.*?\)", f"(host{number})", first, count=1) + "\n\n" + text)
        listed = f"{place}/list"
        with open(listed, "w") as file:
            file.write("\n".join(names))
        megabytes = sum(os.path.getsize(name) for name in names) / 1e6
        times = {program: [] for program in programs}
        for _ in range(ROUNDS):
            for program in programs:
                times[program].append(cpu_s(program, listed))
        for program, taken in times.items():
            middle = statistics.median(taken)
            print(f"{program}: {middle:.2f} s of CPU [{min(taken):.2f}..{max(taken):.2f}] for "
                  f"{megabytes:.0f} MB, {megabytes / middle:.0f} MB/s a core")


if __name__ == "__main__":
    main()
