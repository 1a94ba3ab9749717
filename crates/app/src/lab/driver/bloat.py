# Counters of which few are in use. Speaks as `hugewise workload bloat` does.
import json
import sys
import time

import numpy as np


def say(**answer):
    print(json.dumps(answer), flush=True)


n = int(sys.argv[1]) * 131072
random = np.random.default_rng(int(sys.argv[2]))
c = np.zeros(n, dtype=np.int64)
used = np.unique(random.integers(0, n, 20000))
c[used] = used + 1
say(ready=len(used))
for line in sys.stdin:
    words = line.split()
    if words[0] == "work":
        began, ops, wrong = time.monotonic(), 0, 0
        while (took := time.monotonic() - began) < float(words[1]):
            some = random.choice(used, 10000)
            wrong += int((c[some] != some + 1).sum())
            ops += len(some)
        say(ops_per_s=ops / took, wrong=wrong)
    elif words[0] == "verify":
        same = bool((c[used] == used + 1).all())
        say(**{"verified" if same else "wrong": len(used)})
    else:
        break
