"use strict";
// All text of programs, hosts and files is put in as text, never as markup.

const EVERY_MS = 2000;
const KEY = "hugewise-token";
const CELL = 8;
const by = (id) => document.getElementById(id);
const token = (() => {
  const given = new URLSearchParams(location.search).get("token");
  if (given) sessionStorage.setItem(KEY, given);
  history.replaceState(null, "", "/");
  return given || sessionStorage.getItem(KEY) || "";
})();

const state = { at: null, moments: [], place: 0, pid: null, map: null, sort: "", last: null };

const element = (name, text, kind) => {
  const made = document.createElement(name);
  if (text !== undefined && text !== null) made.textContent = text;
  if (kind) made.className = kind;
  return made;
};

const unknown = (value) => value === null || value === undefined;

const amount = (bytes) => {
  if (unknown(bytes)) return "?";
  let [value, unit] = [bytes, 0];
  while (value >= 1023.5 && unit < 5) [value, unit] = [value / 1024, unit + 1];
  const digits = unit > 0 && value < 9.95 ? 1 : 0;
  return value.toFixed(digits) + " " + ["B", "KiB", "MiB", "GiB", "TiB", "PiB"][unit];
};

const percent = (value) => unknown(value) ? "?" : value > 0 && value < 1 ? "<1 %" : value.toFixed(0) + " %";
const words = (key) => key.replaceAll("_", " ");

const ask = async (path, parameters) => {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters || {})) {
    if (!unknown(value) && value !== "") query.set(name, value);
  }
  const text = query.toString();
  const answer = await fetch("/api/v1/" + path + (text ? "?" + text : ""), {
    headers: { Authorization: "Bearer " + token }, cache: "no-store",
  });
  if (answer.status === 401) {
    sessionStorage.removeItem(KEY);
    location.replace("/");
  }
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return answer.json();
};

const trouble = (error) => {
  by("trouble").hidden = !error;
  by("trouble").textContent = error ? error.message || String(error) : "";
};

const seconds = (time) => time.slice(0, 19).replace("T", " ");

// The machine.

const tile = (name, value, more) => {
  const made = element("div", null, "tile");
  made.append(element("b", value), element("span", name));
  if (more) made.append(element("br"), element("span", more));
  return made;
};

// Which programs get huge pages at faults.
const THP = { always: "huge pages for every program", madvise: "for programs that ask", never: "for no program" };

const showMachine = (told) => {
  const machine = told.machine;
  by("host").textContent = [told.host, seconds(told.time) + " UTC"].filter(Boolean).join(" · ");
  by("summary").textContent = told.summary;
  const cpu = told.cpu;
  const busy = cpu ? percent(cpu.user_percent + cpu.system_percent + cpu.interrupts_percent) : "?";
  const kernel = cpu ? percent(cpu.system_percent + cpu.interrupts_percent) + " in the kernel" : "";
  const psi = machine.psi_some_avg10;
  const used = unknown(machine.mem_available) ? null : machine.mem_total - machine.mem_available;
  const pools = !machine.hugetlb ? [] :
    [tile("in HugeTLB pools", amount(machine.hugetlb), amount(machine.hugetlb_available) + " idle")];
  by("tiles").replaceChildren(
    tile("THP mode", machine.thp || "?", THP[machine.thp]),
    tile("CPU in use", busy, kernel),
    tile("memory in use", amount(used), "of " + amount(machine.mem_total)),
    tile("anonymous memory", amount(machine.anon), percent(machine.huge_percent) + " of it huge"),
    tile("fragmentation (FMFI)", unknown(machine.fmfi) ? "?" : machine.fmfi.toFixed(2), "0: whole, 1: in pieces"),
    tile("free huge blocks", unknown(machine.free_huge) ? "?" : String(machine.free_huge), "whole: a huge page fits"),
    tile("waiting for memory", unknown(psi) ? "?" : psi.toFixed(1) + " %", "of the time (PSI)"),
    ...pools,
  );
};

// How something is started: by hand, or with the machine.
const start = (what, command, unit) => {
  const made = element("p", what + " with ", "soft");
  made.append(element("code", "sudo " + command), element("span", ", or with the machine: "),
    element("code", "sudo systemctl enable --now " + unit), element("span", "."));
  return made;
};

const showManager = (told) => {
  const box = by("manager");
  const manager = told.manager;
  const head = element("div", null, "bar");
  head.append(element("h2", "Manager"));
  box.replaceChildren(head);
  if (!manager) {
    box.append(element("p", "No manager runs."));
    const rehearsal = element("p", "See what one would do with ", "soft");
    rehearsal.append(element("code", "sudo hugewise manage --dry-run --once"), element("span", "."));
    box.append(rehearsal, start("Start one", "hugewise manage", "hugewise"));
  } else {
    const doing = manager.paused ? "paused" : manager.dry_run ? "a dry run" : "acting";
    box.append(element("p", "Mode " + manager.mode + ", " + doing + ": " + manager.promoted +
      " regions made huge, " + manager.demoted + " split, " + manager.failed + " failed."));
    const budget = unknown(manager.bloat_budget) ? "no budget" : "a budget of " + amount(manager.bloat_budget);
    box.append(element("p", "Known bloat " + amount(manager.known_bloat) + ", " + budget + "." +
      (manager.giving_back ? " It gives memory back." : ""), "soft"));
    if (manager.gate) box.append(element("p", "Nothing is promoted: " + words(manager.gate) + ".", "soft"));
  }
  if (state.moments.length === 0) box.append(start("No history is kept: start a recorder", "hugewise record", "hugewise-record"));
  for (const what of told.missing) box.append(element("p", "Not known: " + what, "soft"));
};

// Programs.

const reasons = (of) => Object.entries(of || {}).filter(([, n]) => n > 0).sort((a, b) => b[1] - a[1]);
const COLUMNS = [
  ["name", "program", (p) => p.name, "text"],
  ["pid", "pid", (p) => String(p.pid)],
  ["anon", "anonymous", (p) => amount(p.anon)],
  ["huge_percent", "huge", (p) => percent(p.huge_percent)],
  ["known_bloat", "bloat", (p) => amount(p.known_bloat)],
  [null, "why not more", (p) => p.refused ? words(p.refused) :
    reasons(p.skips).slice(0, 1).map(([key, n]) => n + " " + words(key)).join(), "text"],
];

const showHeads = () => {
  by("heads").replaceChildren(...COLUMNS.map(([key, name, , kind]) => {
    const head = element("th", null, kind);
    head.scope = "col";
    if (!key) {
      head.textContent = name;
      return head;
    }
    const sorted = state.sort.split(":")[0] === key;
    const up = state.sort.endsWith(":asc");
    if (sorted) head.ariaSort = up ? "ascending" : "descending";
    const button = element("button", name + (sorted ? (up ? " ▲" : " ▼") : ""));
    button.type = "button";
    button.addEventListener("click", () => {
      state.sort = sorted && !up ? key + ":asc" : key;
      renew();
    });
    head.append(button);
    return head;
  }));
};

const row = (program) => {
  const made = element("tr");
  made.tabIndex = 0;
  made.dataset.pid = program.pid;
  made.ariaSelected = String(program.pid === state.pid);
  for (const [key, , of, kind] of COLUMNS) {
    const cell = element("td", of(program), kind);
    if (key === "name") cell.title = program.belongs_to || program.cgroup || program.name;
    if (key === "huge_percent" && !unknown(program.huge_percent)) {
      const meter = element("span", null, "meter");
      const part = element("i");
      part.style.width = Math.min(program.huge_percent, 100) + "%";
      meter.append(part);
      cell.append(meter);
    }
    made.append(cell);
  }
  made.addEventListener("click", () => open(program.pid));
  return made;
};

const showPrograms = (told) => {
  showHeads();
  const focused = document.activeElement?.dataset?.pid;
  by("rows").replaceChildren(...told.processes.map(row));
  if (focused) by("rows").querySelector('[data-pid="' + Number(focused) + '"]')?.focus();
  const more = told.processes_not_shown;
  by("more").textContent = told.processes.length === 0 ? "No program passes." :
    more > 0 ? "and " + more + " more: a filter or another order shows them." : "";
};

// One program.

const open = async (pid) => {
  [state.pid, state.map] = [pid, null];
  if (state.last) show(state.last);
  journal();
  by("one").scrollIntoView({ block: "nearest" });
  if (state.at !== null) return;
  try {
    const map = await ask("map", { pid });
    if (state.pid !== pid) return;
    state.map = map;
    trouble(null);
  } catch (error) {
    state.map = { mappings: [], missing: [error.message] };
  }
  if (state.last) showOne(state.last);
};

const close = () => {
  state.pid = null;
  by("one").hidden = true;
  journal();
  if (state.last) showPrograms(state.last);
};

const list = (title, of) => {
  const all = reasons(of);
  if (all.length === 0) return [];
  const made = element("ul");
  for (const [key, n] of all) made.append(element("li", n + " " + words(key)));
  return [element("h3", title), made];
};

const showOne = (told) => {
  const box = by("one");
  const program = told.processes.find((one) => one.pid === state.pid);
  box.hidden = state.pid === null || !program;
  if (box.hidden) return;
  const head = element("div", null, "bar");
  const shut = element("button", "Close");
  shut.type = "button";
  shut.addEventListener("click", close);
  head.append(element("h2", program.name + " (" + program.pid + ")"), shut);
  const where = program.belongs_to || program.cgroup;
  box.replaceChildren(head);
  if (where) box.append(element("p", where, "soft"));
  box.append(element("p", amount(program.populated) + " in regions, " + amount(program.huge) + " of it huge; " +
    amount(program.eligible) + " may become huge, " + amount(program.known_bloat) + " is bloat."));
  box.append(...list("Regions that are not huge, and why", program.skips));
  box.append(...list("Waste that is left, and why", program.kept));
  showMap(box);
};

const shade = (cell, pages) => cell.huge ? "--huge" : cell.populated * 10 >= pages * 9 ? "--full" :
  cell.populated * 2 >= pages ? "--half" : cell.populated > 0 ? "--few" : "--none";

const showMap = (box) => {
  const map = state.map;
  if (state.at !== null) {
    box.append(element("p", "Maps are of now only: return to live.", "soft"));
    return;
  }
  if (!map) {
    box.append(element("p", "Its memory is being inspected…", "soft"));
    return;
  }
  for (const what of map.missing) box.append(element("p", what, "soft"));
  const key = element("p", null, "key soft");
  for (const [kind, name] of [["huge", "huge"], ["full", "90 % in use"], ["half", "half"], ["few", "less"], ["none", "empty"]]) {
    const one = element("span");
    one.append(element("i", null, kind), name);
    key.append(one);
  }
  box.append(element("h3", "Regions of " + amount(map.huge_page)), key);
  for (const mapping of map.mappings) box.append(...drawn(mapping, map.huge_page / map.base_page, box.clientWidth));
};

const drawn = (mapping, pages, width) => {
  const head = element("h3", (mapping.label || "anonymous") + ", " + amount(mapping.size));
  const note = element("p", "\u00a0", "soft");
  const canvas = element("canvas");
  const across = Math.max(8, Math.min(96, Math.floor((Math.max(width, 300) - 30) / CELL)));
  const count = Math.min(mapping.regions, 96 * 400);
  canvas.width = Math.min(across, count) * CELL;
  canvas.height = Math.ceil(count / across) * CELL;
  canvas.role = "img";
  const huge = mapping.huge.filter(Boolean).length;
  canvas.ariaLabel = huge + " of " + mapping.index.length + " regions in use are huge";
  const [style, pen] = [getComputedStyle(document.documentElement), canvas.getContext("2d")];
  const cells = new Map(mapping.index.map((index, at) => [index, {
    huge: mapping.huge[at], populated: mapping.populated[at], swapped: mapping.swapped[at],
  }]));
  const colours = new Map(["--huge", "--full", "--half", "--few", "--none"].map((name) => [name, style.getPropertyValue(name)]));
  for (let index = 0; index < count; index++) {
    const cell = cells.get(index) || { huge: false, populated: 0 };
    pen.fillStyle = colours.get(shade(cell, pages));
    pen.fillRect((index % across) * CELL, Math.floor(index / across) * CELL, CELL - 1, CELL - 1);
  }
  canvas.addEventListener("pointermove", (event) => {
    const scale = canvas.width / canvas.getBoundingClientRect().width;
    const index = Math.floor(event.offsetY * scale / CELL) * across + Math.floor(event.offsetX * scale / CELL);
    const cell = cells.get(index);
    note.textContent = index >= count ? "\u00a0" : "region " + index + ": " + (!cell ? "empty" :
      (cell.huge ? "huge" : cell.populated + " of " + pages + " base pages") +
      (cell.swapped ? ", " + cell.swapped + " swapped" : ""));
  });
  return [head, canvas, note];
};

// The journal.

const plain = (key, value, bytes) => {
  const of = bytes || key.endsWith("_bytes");
  if (value !== null && typeof value === "object") return facts(value, of).join(", ");
  const text = String(value);
  // Names of reasons are words; paths are not.
  return of ? amount(value) : text.includes("/") ? text : words(text);
};

// How long each step took is in the file itself.
const facts = (of, bytes) => Object.entries(of)
  .filter(([key, value]) => !unknown(value) && value !== 0 && value !== false && !key.endsWith("_ns"))
  .filter(([key, value]) => typeof value !== "object" || facts(value).length > 0)
  .map(([key, value]) => words(key.replace(/_bytes$/, "")) + " " + plain(key, value, bytes));

const line = (record) => {
  const { time, record: kind, target, name, ...rest } = record;
  const made = element("li");
  const who = target ? " of " + (name ? name + " (" + target.pid + ")" : target.pid) : name ? " of " + name : "";
  made.append(element("b", seconds(time)), element("span", words(kind) + who + ": "));
  made.append(element("span", facts(rest).join("; "), "soft"));
  return made;
};

let searching = 0;
const journal = async () => {
  const turn = ++searching;
  const text = by("search").value.trim();
  by("whose").textContent = "What the manager did" + (state.pid === null ? "" : " with process " + state.pid);
  try {
    const told = await ask("journal", { pid: state.pid, text, at: state.at });
    if (turn !== searching) return;
    by("journal").hidden = false;
    by("records").replaceChildren(...told.records.map(line));
    by("older").textContent = told.records.length === 0 ? "The journal says nothing of that." :
      told.records_not_shown > 0 ? "and " + told.records_not_shown + " older records" : "";
  } catch {
    if (turn === searching) by("journal").hidden = true;
  }
};

// History.

const clock = (ms) => seconds(new Date(ms).toISOString()) + " UTC";

// What was asked of another moment.
const forget = () => {
  by("findings").hidden = true;
  by("chains").hidden = true;
};

const go = (place) => {
  state.place = Math.max(0, Math.min(place, state.moments.length - 1));
  state.at = state.moments[state.place];
  forget();
  renew();
  journal();
};

const goLive = () => {
  state.at = null;
  state.place = state.moments.length - 1;
  forget();
  renew();
  journal();
};

const showPast = () => {
  by("past").hidden = state.moments.length === 0;
  by("when").max = Math.max(0, state.moments.length - 1);
  by("when").value = state.place;
  by("live").ariaPressed = String(state.at === null);
  for (const id of ["why", "where"]) by(id).disabled = state.at === null;
  by("moment").textContent = state.at === null ? "now" : clock(state.at);
};

const findings = async () => {
  const box = by("findings");
  box.hidden = false;
  box.replaceChildren(element("p", "The five minutes before are being diagnosed…", "soft"));
  try {
    const told = await ask("findings", { at: state.at });
    box.replaceChildren(element("h2", "The five minutes before"));
    if (told.findings.length === 0) box.append(element("p", "Nothing was found." +
      (told.partial ? " Not everything could be seen." : "")));
    for (const finding of told.findings) {
      const made = element("div", null, "finding " + finding.severity);
      made.append(element("b", finding.title));
      const facts = finding.chain.flatMap((link) => link.evidence);
      for (const fact of facts) made.append(element("p", fact.text, "soft"));
      const remedy = finding.remedies[0];
      if (remedy) made.append(element("p", "First: " + remedy.what), element("code", remedy.command));
      box.append(made);
    }
  } catch (error) {
    box.replaceChildren(element("p", error.message));
  }
};

// Where the time was.

const FRAME = 20;
const chains = { told: null, zoomed: null };

const share = (part) => {
  const of = 100 * part / (chains.told.all || 1);
  return of.toFixed(of < 10 ? 1 : 0) + " %";
};

const sought = () => by("sought").value.trim().toLowerCase();
const isSought = (frame, text) => text !== "" && frame.name.toLowerCase().includes(text);

// A function that calls itself counts once.
const soughtTotal = (text) => {
  const found = chains.told.frames.filter((frame) => isSought(frame, text)).sort((a, b) => a.start - b.start);
  let [end, sum] = [0, 0];
  for (const { start, total } of found) {
    sum += Math.max(0, start + total - Math.max(start, end));
    end = Math.max(end, start + total);
  }
  return sum;
};

const pointAt = (frame) => {
  by("pointed").textContent = frame ? frame.name + ": " + share(frame.total) + ", " + share(frame.own) + " of its own" : "\u00a0";
};

const drawFlame = () => {
  const { told, zoomed } = chains;
  const root = { name: "all", kind: "program", depth: -1, start: 0, total: told.all, own: 0 };
  const { start: from, total: width } = zoomed || root;
  const text = sought();
  const box = by("flame");
  const parts = [];
  let deepest = 0;
  for (const frame of [root, ...told.frames]) {
    const left = Math.max(frame.start, from);
    const right = Math.min(frame.start + frame.total, from + width);
    const pixels = (right - left) / width * box.clientWidth;
    // Narrower ones are not even a line.
    if (!(pixels >= 0.7)) continue;
    const part = element("div", pixels < 24 ? "" : frame.name, isSought(frame, text) ? "sought" : frame.kind);
    part.title = frame.name + " (" + share(frame.total) + ")";
    part.style.left = 100 * (left - from) / width + "%";
    part.style.width = 100 * (right - left) / width + "%";
    part.style.bottom = (frame.depth + 1) * FRAME + "px";
    part.addEventListener("click", () => {
      chains.zoomed = frame.depth < 0 ? null : frame;
      drawFlame();
      pointAt(frame);
    });
    part.addEventListener("pointerenter", () => pointAt(frame));
    parts.push(part);
    deepest = Math.max(deepest, frame.depth + 2);
  }
  box.style.height = deepest * FRAME + "px";
  box.replaceChildren(...parts);
  pointAt(null);
  const said = [told.left_out, text && share(soughtTotal(text)) + " is in what is searched for"];
  by("pointed").textContent = said.filter(Boolean).join("; ") || "A click enlarges.";
};

const showOwn = () => {
  const own = new Map();
  for (const { name, own: time } of chains.told.frames) own.set(name, (own.get(name) || 0) + time);
  const largest = [...own].filter(([, time]) => time > 0).sort((a, b) => b[1] - a[1]).slice(0, 10);
  by("functions").replaceChildren(...largest.map(([name, time]) => element("li", share(time) + " " + name)));
};

const flame = async () => {
  const at = state.at;
  [chains.told, chains.zoomed] = [null, null];
  by("chains").hidden = false;
  by("titled").textContent = "The five minutes before are being read…";
  by("flame").replaceChildren();
  by("flame").style.height = "0";
  by("functions").replaceChildren();
  try {
    const told = await ask("flame", { at });
    if (state.at !== at) return;
    if (told.none) throw new Error(told.none);
    chains.told = told;
    by("titled").textContent = told.title + ", the five minutes before";
    drawFlame();
    showOwn();
  } catch (error) {
    if (state.at !== at) return;
    by("titled").textContent = "Where the time was";
    by("pointed").textContent = error.message;
  }
};

// All of it.

const show = (told) => {
  state.last = told;
  showMachine(told);
  showManager(told);
  showPrograms(told);
  showOne(told);
  showPast();
};

let asking = 0;
const renew = async () => {
  const turn = ++asking;
  const text = by("filter").value.trim();
  const filter = text && (/[=<>]/.test(text) ? text : /^\d+$/.test(text) ? "pid=" + text : "name=" + text);
  try {
    const told = await ask("status", { at: state.at, sort: state.sort, filter });
    if (turn !== asking) return;
    trouble(null);
    show(told);
  } catch (error) {
    if (turn === asking) trouble(error);
  }
};

const recorded = async () => {
  try {
    state.moments = (await ask("history")).at_ms;
    if (state.at === null) state.place = state.moments.length - 1;
  } catch {
    state.moments = [];
  }
  showPast();
};

const step = (by_) => {
  if (state.moments.length > 0) go((state.at === null ? state.moments.length - 1 : state.place) + by_);
};

const move = (by_) => {
  const rows = [...by("rows").children];
  const at = rows.indexOf(document.activeElement);
  rows[Math.max(0, Math.min(at + by_, rows.length - 1))]?.focus();
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.key === "Escape") {
    document.activeElement.blur();
    close();
    return;
  }
  if (document.activeElement.tagName === "INPUT") return;
  const pid = document.activeElement.dataset?.pid;
  const keys = {
    "/": () => by("filter").focus(), j: () => move(1), k: () => move(-1), l: goLive,
    ArrowLeft: () => step(-1), ArrowRight: () => step(1), Enter: () => pid && open(Number(pid)),
  };
  if (!Object.hasOwn(keys, event.key) || (event.key === "Enter" && !pid)) return;
  event.preventDefault();
  keys[event.key]();
});
by("live").addEventListener("click", goLive);
by("back").addEventListener("click", () => step(-1));
by("on").addEventListener("click", () => step(1));
by("when").addEventListener("input", () => go(Number(by("when").value)));
by("why").addEventListener("click", findings);
by("where").addEventListener("click", flame);
window.addEventListener("resize", () => chains.told && drawFlame());
const whenTyped = (id, act) => {
  let typing;
  by(id).addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(act, 250);
  });
};
whenTyped("filter", renew);
whenTyped("search", journal);
whenTyped("sought", () => chains.told && drawFlame());

renew();
recorded();
journal();
setInterval(() => { if (state.at === null && !document.hidden) renew(); }, EVERY_MS);
setInterval(() => { if (state.at === null && !document.hidden) journal(); }, 5 * EVERY_MS);
setInterval(recorded, 60000);
