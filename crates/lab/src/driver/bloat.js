// Counters of which few are in use: a typed array is allocated as zeros by the C library. Speaks
// as `hugewise lab workload bloat` does.
const say = (answer) => console.log(JSON.stringify(answer));
const n = Number(process.argv[1]) * 131072;
const c = new Float64Array(n);
let state = 1 + (Number(process.argv[2]) % 2147483646);
const random = () => (state = (state * 48271) % 2147483647) / 2147483647;
const used = Array.from({ length: 20000 }, () => Math.floor(random() * n));
for (const at of used) c[at] = at + 1;
say({ event: 'ready' });
require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const [verb, seconds] = line.split(' ');
  if (verb === 'measure') {
    const began = performance.now();
    let [ops, wrong, took] = [0, 0, 0];
    while ((took = (performance.now() - began) / 1000) < Number(seconds)) {
      for (let i = 0; i < 10000; i++) {
        const at = used[Math.floor(random() * used.length)];
        if (c[at] !== at + 1) wrong++;
      }
      ops += 10000;
    }
    if (wrong) say({ event: 'mismatch', wrong, during: 'measure' });
    else say({ event: 'measured', values: { ops_per_s: ops / took } });
  } else if (verb === 'verify') {
    const wrong = used.filter((at) => c[at] !== at + 1).length;
    if (wrong) say({ event: 'mismatch', wrong, during: 'verify' });
    else say({ event: 'verified', checked: used.length });
  } else process.exit(0);
});
