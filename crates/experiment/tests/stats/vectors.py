"""Writes vectors.json: samples, and what SciPy, NumPy and statsmodels say of them.

    python3 -m venv VENV && VENV/bin/pip install numpy scipy statsmodels
    VENV/bin/python vectors.py > vectors.json

The Rust test `vectors` holds the statistics of `hugewise-base` against it. Samples are drawn with a fixed
seed and written out, so that both sides compute on the same numbers.
"""

import json
import math
import sys

import numpy as np
import scipy
import statsmodels
from scipy import stats
from scipy.special import ndtr, ndtri
from statsmodels.stats.multitest import multipletests

ALPHA = 0.05


def samples(rng):
    """Pairs of samples: with and without ties, 3 to 40 values, latencies as programs have them."""

    def latencies_us(n, middle):
        values = rng.lognormal(math.log(middle), 0.04, n)
        stalls = rng.random(n) < 0.1
        return np.round(np.where(stalls, values * rng.uniform(3, 9, n), values), 3)

    return {
        "three": ([1.25, 3.5, 2.0], [4.0, 5.5, 3.75]),
        "five, apart": ([10.1, 10.4, 9.8, 10.2, 9.9], [20.3, 19.7, 20.8, 20.1, 21.5]),
        "five and seven": (rng.normal(100, 2, 5), rng.normal(103, 2, 7)),
        "eight": (rng.normal(1e6, 3e4, 8), rng.normal(1.02e6, 3e4, 8)),
        "many ties": ([3, 3, 4, 5, 5, 6, 3], [4, 5, 6, 6, 7, 5]),
        "mostly equal": ([7, 7, 7, 8, 7, 7], [7, 8, 8, 7, 9, 8]),
        "latencies, 10 runs": (latencies_us(10, 180), latencies_us(10, 150)),
        "latencies, 40 runs": (latencies_us(40, 180), latencies_us(40, 178)),
        "40 and 3": (rng.normal(50, 5, 40), rng.normal(58, 5, 3)),
        "around zero": (rng.normal(0, 1, 9), rng.normal(0.5, 1, 8)),
        "tiny": (rng.lognormal(-20, 1, 12), rng.lognormal(-19, 1, 12)),
        "huge": (rng.lognormal(30, 0.5, 6), rng.lognormal(31, 0.5, 9)),
    }


def spread(x):
    return {
        "mad": stats.median_abs_deviation(x),
        "deviation": np.std(x, ddof=1),
        "quantiles": [[q, np.quantile(x, q)] for q in (0.0, 0.1, 0.25, 0.5, 0.9, 0.99, 1.0)],
        "modified_z": modified_z(x),
    }


def modified_z(x):
    mad = stats.median_abs_deviation(x)
    return None if mad == 0 else [abs(0.6745 * (v - np.median(x)) / mad) for v in x]


def rank_test(x, y):
    def result(method):
        test = stats.mannwhitneyu(x, y, alternative="two-sided", method=method)
        return {"u": test.statistic, "p": test.pvalue}

    ties = len(set(np.concatenate([x, y]))) < len(x) + len(y)
    return {"exact": None if ties else result("exact"), "normal": result("asymptotic")}


def critical(n, m):
    """How many of U = 0, 1, 2 ... have a two-sided exact p of at most ALPHA, from SciPy's test.

    Samples with a given U: the largest value of `y` moves down through `x`, then the next one.
    """
    for u in range(n * m + 1):
        full, part = divmod(u, n)
        y = [i - 1000.0 for i in range(m)]
        for i in range(full):
            y[m - 1 - i] = 1000.0 + i
        if part:
            y[m - 1 - full] = part - 0.5
        x = [float(i) for i in range(n)]
        test = stats.mannwhitneyu(y, x, alternative="two-sided", method="exact")
        assert test.statistic == u, (test.statistic, u)
        if test.pvalue > ALPHA:
            return u
    raise AssertionError("every U is rare")


def hodges_lehmann(x, y):
    k = critical(len(x), len(y))

    def of(pairs):
        pairs = np.sort(pairs)
        interval = [pairs[k - 1], pairs[len(pairs) - k]] if k > 0 else None
        return {"estimate": np.median(pairs), "interval": interval}

    shift = of(np.subtract.outer(y, x).ravel())
    if min(np.min(x), np.min(y)) <= 0:
        return {"shift": shift, "ratio": None}
    ratio = of(np.subtract.outer(np.log(y), np.log(x)).ravel())
    ratio["estimate"] = math.exp(ratio["estimate"])
    if ratio["interval"]:
        ratio["interval"] = [math.exp(end) for end in ratio["interval"]]
    return {"shift": shift, "ratio": ratio}


def families(rng):
    lists = [
        [0.01, 0.04, 0.03, 0.005],
        [0.2],
        [0.05, 0.05, 0.05],
        [1.0, 0.9, 0.5, 0.0],
        rng.random(25) ** 3,
    ]
    return [
        {
            "p": p,
            "holm": multipletests(p, method="holm")[1],
            "benjamini_hochberg": stats.false_discovery_control(p, method="bh"),
        }
        for p in lists
    ]


def numbers():
    at = [-37.0, -8.2, -3.0, -1.0, -0.1, 0.0, 0.3, 1.96, 5.0, 8.0]
    shares = [1e-300, 1e-17, 1e-9, 0.001, 0.025, 0.4999, 0.5, 0.8, 0.975, 0.99999]
    degrees = [1, 2, 3, 4, 7, 8, 18, 39, 78, 255, 499]
    return {
        "normal_cdf": [[x, ndtr(x)] for x in at],
        "normal_quantile": [[p, ndtri(p)] for p in shares],
        "student_quantile": [
            [p, d, stats.t.ppf(p, d)] for p in (1e-6, 0.1, 0.5, 0.8, 0.975) for d in degrees
        ],
    }


def plain(value):
    """NumPy's numbers and arrays as JSON has them."""
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(one) for one in value]
    if isinstance(value, np.integer):
        return int(value)
    return float(value) if isinstance(value, np.floating) else value


def main():
    rng = np.random.default_rng(20_240_601)
    cases = []
    for name, (x, y) in samples(rng).items():
        x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
        case = {"name": name, "one": x, "two": y, "spread": [spread(x), spread(y)]}
        case["rank_test"] = rank_test(x, y)
        case["hodges_lehmann"] = hodges_lehmann(x, y)
        cases.append(case)
    versions = {"scipy": scipy.__version__, "numpy": np.__version__}
    versions["statsmodels"] = statsmodels.__version__
    everything = {"versions": versions, "alpha": ALPHA, "numbers": numbers()}
    everything["families"] = families(rng)
    head = json.dumps(plain(everything), indent=1)
    lines = ",\n".join(json.dumps(plain(case), separators=(",", ":")) for case in cases)
    sys.stdout.write(head[: head.rindex("}")].rstrip() + ',\n "cases": [\n' + lines + "\n]}\n")


main()
