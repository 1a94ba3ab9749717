import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;

/**
 * Allocates arrays as fast as it can beside a live set of which it replaces some, and verifies
 * what is replaced. Between two arrays it reads others, as a cache does. A line of input is a request, a line of output an event in JSON.
 *
 * Arguments: size of the live set (MiB), share of survivors (percent), size of an array (bytes),
 * seed, arrays read for each new one.
 */
final class Churn {
    /** Arrays allocated in one measured batch. */
    private static final int BATCH = 64;
    /** Sub-buckets of a power of two: a bucket is at most 1/64 of its values wide. */
    private static final int SUB_BITS = 6;

    private final long[][] live;
    private final int words;
    private final int survivePercent;
    private final int lookups;
    private long state;
    private long next;
    /** Whatever is computed must be used. */
    private long sink;

    private long[] counts;
    private long sum;
    private long low;
    private long high;

    private Churn(int mib, int survivePercent, int bytes, long seed, int lookups) {
        this.words = Math.max(2, bytes / 8);
        this.live = new long[Math.max(1, (int) ((long) mib * (1 << 20) / (words * 8L)))][];
        this.survivePercent = survivePercent;
        this.state = seed;
        this.lookups = lookups;
        for (int at = 0; at < live.length; at++) {
            live[at] = allocate();
        }
    }

    private static long mix(long z) {
        z = (z ^ (z >>> 30)) * 0xbf58476d1ce4e5b9L;
        z = (z ^ (z >>> 27)) * 0x94d049bb133111ebL;
        return z ^ (z >>> 31);
    }

    private long random() {
        state += 0x9e3779b97f4a7c15L;
        return mix(state);
    }

    /** A new array: a number of its own first, then words that follow from it. */
    private long[] allocate() {
        long[] array = new long[words];
        long number = next++;
        array[0] = number;
        for (int at = 1; at < array.length; at++) {
            array[at] = number * 31 + at;
        }
        return array;
    }

    private static boolean isIntact(long[] array) {
        long wrong = 0;
        for (int at = 1; at < array.length; at++) {
            wrong |= array[at] ^ (array[0] * 31 + at);
        }
        return wrong == 0;
    }

    private void batch() {
        for (int i = 0; i < BATCH; i++) {
            for (int look = 0; look < lookups; look++) {
                sink += live[(int) Long.remainderUnsigned(random(), live.length)][words / 2];
            }
            long[] array = allocate();
            if (Long.remainderUnsigned(random(), 100) < survivePercent) {
                int at = (int) Long.remainderUnsigned(random(), live.length);
                if (!isIntact(live[at])) {
                    mismatch(at);
                }
                live[at] = array;
            } else {
                sink += array[words - 1];
            }
        }
    }

    private static void mismatch(int at) {
        System.out.println("{\"event\":\"mismatch\",\"wrong\":1,\"during\":\"array " + at + "\"}");
        System.exit(1);
    }

    private void record(long ns) {
        int shift = Math.max(0, Long.SIZE - Long.numberOfLeadingZeros(ns) - SUB_BITS - 1);
        counts[(shift << (SUB_BITS + 1)) + (int) (ns >>> shift)]++;
        sum += ns;
        low = Math.min(low, ns);
        high = Math.max(high, ns);
    }

    private String buckets() {
        StringBuilder out = new StringBuilder();
        for (int at = 0; at < counts.length; at++) {
            if (counts[at] > 0) {
                int shift = at >> (SUB_BITS + 1);
                long value = (long) (at - (shift << (SUB_BITS + 1))) << shift;
                out.append(out.length() > 0 ? "," : "");
                out.append('[').append(value).append(',').append(counts[at]).append(']');
            }
        }
        return out.toString();
    }

    /** Collections so far, and the milliseconds that they took. */
    private static long[] collections() {
        long[] all = new long[2];
        for (GarbageCollectorMXBean bean : ManagementFactory.getGarbageCollectorMXBeans()) {
            all[0] += Math.max(0, bean.getCollectionCount());
            all[1] += Math.max(0, bean.getCollectionTime());
        }
        return all;
    }

    private void measure(double seconds) {
        counts = new long[64 << (SUB_BITS + 1)];
        sum = 0;
        low = Long.MAX_VALUE;
        high = 0;
        long[] before = collections();
        long began = System.nanoTime();
        long end = began + (long) (seconds * 1e9);
        long now = began;
        long batches = 0;
        while (now < end) {
            batch();
            long then = System.nanoTime();
            record(then - now);
            now = then;
            batches++;
        }
        double took = (now - began) / 1e9;
        double mib = batches * BATCH * (words * 8.0) / (1 << 20);
        long[] after = collections();
        System.out.println("{\"event\":\"measured\",\"values\":{\"allocated_mib_per_s\":"
            + mib / took + ",\"gc_count\":" + (after[0] - before[0]) + ",\"gc_ms\":"
            + (after[1] - before[1]) + "},\"histograms\":{\"latency\":{\"buckets\":[" + buckets() + "],\"sum\":"
            + sum + ",\"range\":[" + low + "," + high + "]}}}");
    }

    private void verify() {
        for (int at = 0; at < live.length; at++) {
            if (!isIntact(live[at])) {
                mismatch(at);
            }
        }
        System.out.println("{\"event\":\"verified\",\"checked\":" + live.length + "}");
    }

    public static void main(String[] args) throws Exception {
        Churn churn = new Churn(Integer.parseInt(args[0]), Integer.parseInt(args[1]),
            Integer.parseInt(args[2]), Long.parseUnsignedLong(args[3]), Integer.parseInt(args[4]));
        System.out.println("{\"event\":\"ready\"}");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] request = line.trim().split(" ");
            switch (request[0]) {
                case "measure" -> churn.measure(Double.parseDouble(request[1]));
                case "verify" -> churn.verify();
                default -> {
                    return;
                }
            }
        }
    }
}
