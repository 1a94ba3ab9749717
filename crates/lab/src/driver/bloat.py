# Counters of which few are in use. Speaks as `hugewise lab workload bloat` does.
import json
import sys
import time

import numpy as np


def say(event, **answer):
    print(json.dumps({"event": event, **answer}), flush=True)


n = int(sys.argv[1]) * 131072
random = np.random.default_rng(int(sys.argv[2]))
c = np.zeros(n, dtype=np.int64)
used = np.unique(random.integers(0, n, 20000))
c[used] = used + 1
say("ready")
for line in sys.stdin:
    words = line.split()
    if words[0] == "measure":
        began, ops, wrong = time.monotonic(), 0, 0
        while (took := time.monotonic() - began) < float(words[1]):
            some = random.choice(used, 10000)
            wrong += int((c[some] != some + 1).sum())
            ops += len(some)
        if wrong:
            say("mismatch", wrong=wrong, during="measure")
        else:
            say("measured", values={"ops_per_s": ops / took})
    elif words[0] == "verify":
        wrong = int((c[used] != used + 1).sum())
        if wrong:
            say("mismatch", wrong=wrong, during="verify")
        else:
            say("verified", checked=len(used))
    else:
        break
