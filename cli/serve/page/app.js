// The page of "simba serve": shows what /api tells. Everything in it that comes from the store is a
// stranger's text: it is only ever set as text (textContent, title), never as markup.
"use strict";

(() => {
const byId = (id) => document.getElementById(id);

// ---- text ------------------------------------------------------------------------------------

// What would steer the display (control characters, changes of direction, invisible ones) is shown
// by its number. A long text is cut.
const steering = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;
function readable(text, most = 300) {
  const whole = String(text);
  const cut = whole.length > most ? [...whole.slice(0, most)].slice(0, -1).join("") + "…" : whole;
  return cut.replace(steering, (c) => "\\u{" + c.codePointAt(0).toString(16) + "}");
}

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

function setClass(node, name) {
  if (node.className !== name) node.className = name;
}

const counts = new Intl.NumberFormat("en-US");
const plural = (count, one, many) => `${counts.format(count)} ${count === 1 ? one : many ?? one + "s"}`;

function span(ms) {
  const s = Math.max(0, ms) / 1000;
  if (s < 10) return `${s.toFixed(1)} s`;
  if (s < 120) return `${Math.floor(s)} s`;
  if (s < 7200) return `${Math.floor(s / 60)} min`;
  if (s < 172800) return `${Math.floor(s / 3600)} h`;
  return `${Math.floor(s / 86400)} days`;
}

// Like `span`, but does not flicker: for what is a while ago.
function ago(ms) {
  return ms < 2000 ? "just now" : ms < 10000 ? `${Math.floor(ms / 1000)} s ago` : `${span(ms)} ago`;
}

const two = (n) => String(n).padStart(2, "0");
function clock(ms, precise) {
  const t = new Date(ms);
  const time = `${two(t.getHours())}:${two(t.getMinutes())}:${two(t.getSeconds())}`;
  return precise ? `${time}.${String(t.getMilliseconds()).padStart(3, "0")}` : time;
}
function moment(ms, precise) {
  const t = new Date(ms);
  return `${t.getFullYear()}-${two(t.getMonth() + 1)}-${two(t.getDate())} ${clock(ms, precise)}`;
}

const words = {
  seen: "none seen", acquired: "acquired", released: "released", expired: "lease expired",
  handed_over: "handed over", taken_over: "taken over after expiry", forced: "released by force",
  removed: "no longer in the store",
};

// ---- what is known ---------------------------------------------------------------------------

const state = {
  instance: null, revision: -1, loaded: false, loading: false, again: false, pending: [],
  byId: new Map(), byName: new Map(), changes: [], from: 0,
  health: null, allowsRelease: false, session: null,
  offset: null,  // of this clock against the server's
};

const serverNow = () => Date.now() - (state.offset ?? 0);

function learnTime(text) {
  const offset = Date.now() - Date.parse(text);
  if (state.offset === null || offset < state.offset || offset > state.offset + 2000) state.offset = offset;
}

// The object of the API, with what is needed often.
function prepared(row) {
  row.key = row.mutex.toLowerCase();
  row.search = `${row.mutex}\n${row.owner ?? ""}\n${row.endpoint ?? ""}`.toLowerCase();
  row.ends = row.lease_ends ? Date.parse(row.lease_ends) : null;
  row.sinceMs = row.since ? Date.parse(row.since) : null;
  row.changedMs = Date.parse(row.last_change.at);
  row.waits = row.waiting ? row.waiting.length : 0;
  return row;
}

function putRow(row) {
  const before = state.byId.get(row.id);
  prepared(row);
  if (before) row.flash = before.owner !== row.owner ? performance.now() : before.flash;
  else if (state.loaded) row.flash = performance.now();
  state.byId.set(row.id, row);
  state.byName.set(row.mutex, row);
}

function applyNews(news) {
  if (news.revision <= state.revision) return;
  const known = state.byId.size;
  let structure = false;
  for (const row of news.mutexes) {
    structure = structure || !state.byId.has(row.id);
    putRow(row);
  }
  for (const [id, ends, token] of news.leases) {
    const row = state.byId.get(id);
    if (!row) continue;
    if (ends !== null) row.lease_ms = Math.max(row.lease_ms ?? 0, ends - serverNow());
    row.ends = ends;
    row.token = token;
  }
  for (const id of news.removed) {
    const row = state.byId.get(id);
    if (!row) continue;
    state.byId.delete(id);
    if (state.byName.get(row.mutex) === row) state.byName.delete(row.mutex);
  }
  for (const change of news.changes) addChange(change);
  state.revision = news.revision;
  if (structure || state.byId.size !== known || news.mutexes.length) views.stale = true;
  announce(news.changes);
  if (current.view === "mutex" && news.mutexes.some((row) => row.mutex === current.name)) detail.refresh();
}

const mostChanges = 50000;
const history = new Map();  // the changes of a mutex by its name, oldest first

function addChange(change) {
  change.ms = Date.parse(change.at);
  state.changes.push(change);
  const own = history.get(change.mutex);
  if (own) own.push(change); else history.set(change.mutex, [change]);
  if (state.changes.length > mostChanges) forgetChanges(mostChanges / 10);
}

function forgetChanges(count) {
  for (const change of state.changes.splice(0, count)) {
    const own = history.get(change.mutex);
    own.shift();
    if (own.length === 0) history.delete(change.mutex);
    state.from = Math.max(state.from, change.ms);
  }
}

// ---- talking to the server -------------------------------------------------------------------

class Refused extends Error {
  constructor(status, text) { super(text); this.status = status; }
}

async function ask(path, body) {
  const options = { cache: "no-store", credentials: "same-origin", signal: AbortSignal.timeout(30000) };
  if (body !== undefined) {
    options.method = "POST";
    options.headers = { "Content-Type": "application/json" };
    options.body = JSON.stringify(body);
  }
  const answer = await fetch(path, options);
  let object = {};
  try { object = await answer.json(); } catch { /* the status says enough */ }
  if (!answer.ok) {
    if (answer.status === 401 && path !== "/api/login") needLogin();
    throw new Refused(answer.status, object.error ?? `the server answered ${answer.status}`);
  }
  return object;
}

const link = { source: null, timer: 0, heard: 0, wait: 500 };

function heard() {
  link.heard = performance.now();
  link.wait = 500;
  setLive("live");
}

function disconnect() {
  clearTimeout(link.timer);
  if (link.source) link.source.close();
  link.source = null;
}

function reconnectLater() {
  disconnect();
  setLive("away");
  link.timer = setTimeout(connect, link.wait);
  link.wait = Math.min(link.wait * 1.6, 4000);
}

async function connect() {
  disconnect();
  try {
    const session = await ask("/api/session");
    state.session = session;
    state.allowsRelease = session.allows_release;
    byId("logout").hidden = !session.logged_in;
    if (session.needs_login && !session.logged_in) return needLogin();
  } catch {
    return reconnectLater();
  }
  if (current.view === "login") show();
  const since = state.loaded ? `?since=${state.instance}.${state.revision}` : "";
  const source = new EventSource("/api/events" + since);
  link.source = source;
  link.heard = performance.now();
  const on = (name, act) => source.addEventListener(name, (event) => {
    if (source !== link.source) return;
    heard();
    act(JSON.parse(event.data));
  });
  on("hello", (hello) => {
    state.allowsRelease = hello.allows_release;
    state.offset = null;
    learnTime(hello.time);
  });
  on("beat", (beat) => learnTime(beat.time));
  on("health", (health) => { state.health = health; showHealth(); });
  on("reset", () => load());
  on("news", (news) => {
    learnTime(news.time);
    if (state.loading) state.pending.push(news); else if (state.loaded) applyNews(news);
  });
  // Its own attempts to connect again would ask for the revision of its first connection.
  source.onerror = () => { if (source === link.source) reconnectLater(); };
}

async function load() {
  if (state.loading) { state.again = true; return; }
  state.loading = true;
  state.again = false;
  state.pending = [];
  const source = link.source;
  try {
    const [all, past] = await Promise.all([ask("/api/mutexes"), ask("/api/changes?limit=20000")]);
    if (source !== link.source) return;
    state.byId.clear();
    state.byName.clear();
    state.changes = [];
    history.clear();
    state.loaded = false;
    for (const row of all.mutexes) putRow(row);
    for (const change of past.changes) addChange(change);
    state.from = past.changes.length >= 20000 ? past.changes[0]?.ms ?? 0 : Date.parse(past.history_from);
    state.revision = all.revision;
    state.instance = all.instance;
    state.loaded = true;
    views.stale = true;
    for (const news of state.pending) applyNews(news);
    if (current.view === "mutex") detail.refresh();
    show();
  } catch {
    if (source === link.source && current.view !== "login") reconnectLater();
  } finally {
    state.loading = false;
    state.pending = [];
    if (link.source && (state.again || (source !== link.source && !state.loaded))) load();
  }
}

// The server is silent for longer than it ever should be.
setInterval(() => {
  if (link.source && performance.now() - link.heard > 15000) reconnectLater();
}, 3000);

// A browser has few connections to a server: a page that nobody sees gives up its own after a while.
let hiddenTimer = 0;
document.addEventListener("visibilitychange", () => {
  clearTimeout(hiddenTimer);
  if (document.hidden) hiddenTimer = setTimeout(disconnect, 60000);
  else if (!link.source && current.view !== "login") connect();
});

function setLive(how) {
  const node = byId("live");
  if (node.dataset.state === how) return;
  node.dataset.state = how;
  setText(node, how === "live" ? "Live" : "Reconnecting");
}

// Not each of many changes: who listens wants to follow.
let spoken = 0;
function announce(changes) {
  const now = performance.now();
  const mine = current.view === "mutex" ? changes.filter((c) => c.mutex === current.name) : changes;
  if (mine.length === 0 || now - spoken < 3000) return;
  spoken = now;
  const last = mine[mine.length - 1];
  byId("announcer").textContent = mine.length > 3
    ? `${mine.length} changes of ownership`
    : `${readable(last.mutex, 80)}: ${words[last.what] ?? last.what}${last.owner ? ", owned by " + readable(last.owner, 80) : ""}`;
}

// ---- colours of owners -----------------------------------------------------------------------

// White text can be read on each of them.
const palette = ["#2f7fb8", "#7a5cc0", "#b8602c", "#b84a86", "#2b877a", "#4f68c4", "#94731a", "#96509f",
  "#bd4c52", "#468546", "#2f8599", "#7d6a55"];

// Those of one endpoint have one colour, however often they were started.
const placeOf = (owner) => (owner.indexOf("#") > 0 ? owner.slice(0, owner.indexOf("#")) : owner);
function colourOf(owner) {
  const place = placeOf(owner);
  let hash = 2166136261;
  for (let i = 0; i < place.length; ++i) hash = Math.imul(hash ^ place.charCodeAt(i), 16777619);
  return palette[((hash ^ (hash >>> 15)) >>> 0) % palette.length];
}

// ---- tables whose rows exist only while they are in sight ----------------------------------------

class Grid {
  // columns: {title, sort(row), numeric, make(cell), draw(cell, row)}
  constructor(root, options) {
    Object.assign(this, options);
    this.root = root;
    this.rows = [];
    this.pool = [];
    this.focused = 0;
    root.setAttribute("role", "grid");
    root.setAttribute("aria-label", this.label);
    root.setAttribute("aria-colcount", String(this.columns.length));
    this.head = element("div", "grid-head");
    this.head.setAttribute("role", "row");
    this.head.setAttribute("aria-rowindex", "1");
    this.columns.forEach((column, index) => this.head.append(this.heading(column, index)));
    this.scroller = element("div", "scroller");
    this.scroller.setAttribute("role", "presentation");
    this.scroller.tabIndex = -1;
    this.spacer = element("div", "spacer");
    this.spacer.setAttribute("role", "rowgroup");
    this.note = element("p", "empty");
    this.scroller.append(this.spacer);
    root.append(this.head, this.scroller, this.note);
    this.scroller.addEventListener("scroll", () => this.request(), { passive: true });
    new ResizeObserver(() => this.request()).observe(this.scroller);
    root.addEventListener("keydown", (event) => this.key(event));
    this.mark(0, false);
  }

  heading(column, index) {
    const cell = element("div", column.numeric ? "number" : "");
    cell.setAttribute("role", "columnheader");
    cell.setAttribute("aria-colindex", String(index + 1));
    if (!column.sort) {
      if (column.head) column.head(cell); else cell.textContent = column.title;
      return cell;
    }
    const button = element("button", "", column.title);
    button.type = "button";
    button.addEventListener("click", () => this.sortBy(index));
    cell.setAttribute("aria-sort", "none");
    cell.append(button);
    return cell;
  }

  sortBy(index) {
    const again = this.sortedBy.index === index;
    this.mark(index, again ? !this.sortedBy.down : Boolean(this.columns[index].downFirst));
    views.stale = true;
    views.update(true);
  }

  mark(index, down) {
    this.sortedBy = { index, down };
    [...this.head.children].forEach((cell, i) => {
      if (this.columns[i].sort) cell.setAttribute("aria-sort", i !== index ? "none" : down ? "descending" : "ascending");
    });
  }

  sorted(rows) {
    const { index, down } = this.sortedBy;
    const value = this.columns[index].sort;
    const keyed = rows.map((row) => [value(row), row]);
    const sign = down ? -1 : 1;
    keyed.sort((a, b) => {
      // What has no value comes last, either way.
      if (a[0] === null || b[0] === null) return (a[0] === null) - (b[0] === null) || (a[1].key < b[1].key ? -1 : 1);
      if (a[0] < b[0]) return -sign;
      if (a[0] > b[0]) return sign;
      return a[1].key < b[1].key ? -1 : a[1].key > b[1].key ? 1 : 0;
    });
    return keyed.map((pair) => pair[1]);
  }

  setRows(rows, note) {
    this.rows = this.sorted(rows);
    this.root.setAttribute("aria-rowcount", String(rows.length + 1));
    this.spacer.style.height = `${rows.length * this.height}px`;
    this.scroller.hidden = rows.length === 0;
    this.note.hidden = rows.length > 0;
    setText(this.note, note);
    this.focused = Math.max(0, Math.min(this.focused, rows.length - 1));
    this.draw();
  }

  request() {
    if (this.requested) return;
    this.requested = true;
    requestAnimationFrame(() => { this.requested = false; this.draw(); });
  }

  draw() {
    if (this.root.closest("[hidden]")) return;
    const top = this.scroller.scrollTop;
    const first = Math.max(0, Math.floor(top / this.height) - 4);
    const last = Math.min(this.rows.length, Math.ceil((top + this.scroller.clientHeight) / this.height) + 4);
    const wanted = last - first;
    while (this.pool.length < wanted) this.pool.push(this.makeRow());
    // A row keeps its element while it is in sight, so that the keyboard's focus stays with it.
    const size = this.pool.length;
    for (let i = first; i < first + size; ++i) {
      const node = this.pool[i % size];
      const row = i < last ? this.rows[i] : undefined;
      node.hidden = !row;
      if (!row) { node.row = null; continue; }
      if (node.index !== i) {
        node.index = i;
        node.style.transform = `translateY(${i * this.height}px)`;
        node.setAttribute("aria-rowindex", String(i + 2));
      }
      node.tabIndex = i === this.focused ? 0 : -1;
      if (node.row !== row) {
        node.row = row;
        node.setAttribute("aria-label", this.describe(row));
      }
      this.columns.forEach((column, c) => column.draw(node.cells[c], row, node));
      this.flash(node, row);
    }
  }

  flash(node, row) {
    if (node.flashed === row.flash && node.flashedRow === row.id) return;
    const fresh = row.flash && performance.now() - row.flash < 800;
    node.flashed = row.flash;
    node.flashedRow = row.id;
    node.classList.remove("flash");
    if (!fresh) return;
    void node.offsetWidth;
    node.classList.add("flash");
  }

  makeRow() {
    const node = element("div", "grid-row");
    node.setAttribute("role", "row");
    node.cells = this.columns.map((column, index) => {
      const cell = element("div", column.numeric ? "number" : "");
      cell.setAttribute("role", "gridcell");
      cell.setAttribute("aria-colindex", String(index + 1));
      if (column.make) column.make(cell);
      node.append(cell);
      return cell;
    });
    node.addEventListener("click", () => node.row && openMutex(node.row.mutex));
    node.addEventListener("focus", () => { this.focused = node.index; });
    this.spacer.append(node);
    return node;
  }

  key(event) {
    if (!event.target.classList.contains("grid-row")) return;
    const page = Math.max(1, Math.floor(this.scroller.clientHeight / this.height) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (event.key === "Enter") {
      const row = this.rows[this.focused];
      if (row) openMutex(row.mutex);
    } else if (event.key in steps) {
      this.focus(Math.max(0, Math.min(this.rows.length - 1, this.focused + steps[event.key])));
    } else {
      return;
    }
    event.preventDefault();
  }

  focus(index) {
    this.focused = index;
    const top = index * this.height;
    const view = this.scroller;
    if (top < view.scrollTop) view.scrollTop = top;
    if (top + this.height > view.scrollTop + view.clientHeight) view.scrollTop = top + this.height - view.clientHeight;
    this.draw();
    const node = this.pool.find((one) => one.index === index && !one.hidden);
    if (node) node.focus({ preventScroll: true });
  }
}

// ---- cells -----------------------------------------------------------------------------------

function makeTwoLines(cell) {
  cell.one = element("span", "first text");
  cell.two = element("span", "second text");
  cell.append(cell.one, cell.two);
}
function drawTwoLines(cell, one, two, className) {
  setText(cell.one, one);
  setText(cell.two, two);
  setClass(cell.one, "first text" + (className ? " " + className : ""));
  cell.two.hidden = two === "";
}

// The bar of a lease; `drawLease` is called again as time goes by.
function makeLease(cell) {
  const whole = element("div", "lease");
  const bar = element("div", "bar");
  cell.left = element("div", "left");
  cell.text = element("span", "lease-text");
  cell.bar = bar;
  bar.append(cell.left);
  whole.append(bar, cell.text);
  cell.whole = whole;
  cell.append(whole);
}
function drawLease(cell, row) {
  const has = row.owner !== null && row.ends !== null;
  cell.bar.hidden = !has;
  if (!has) {
    delete cell.whole.dataset.level;
    return setText(cell.text, row.owner === null ? "–" : row.session ? "session" : "no expiry");
  }
  const left = row.ends - serverNow();
  const part = Math.max(0, Math.min(1, left / Math.max(1, row.lease_ms)));
  cell.whole.dataset.level = left <= 0 ? "over" : part < 0.3 ? "low" : "good";
  cell.left.style.transform = `scaleX(${left <= 0 ? 1 : part.toFixed(4)})`;
  setText(cell.text, left <= 0 ? `over since ${span(-left)}` : `${span(left)} left`);
}

const ownerText = (row) => (row.owner === null ? "free" : readable(row.owner));
const lastChange = (row) => words[row.last_change.what] ?? row.last_change.what;

function describe(row) {
  return `${readable(row.mutex, 120)}, ${row.owner === null ? "free" : "owned by " + readable(row.owner, 120)}`;
}

// ---- the table of mutexes --------------------------------------------------------------------

const mutexGrid = new Grid(byId("mutexes"), {
  label: "Mutexes", height: 52, describe,
  columns: [
    { title: "Mutex", sort: (row) => row.key, make: makeTwoLines,
      draw: (cell, row) => drawTwoLines(cell, readable(row.mutex), row.schedule && row.schedule.definition ? "schedule " + readable(row.schedule.definition, 60) : "", "name") },
    { title: "Owner", sort: (row) => (row.owner === null ? null : row.owner), make: makeTwoLines,
      draw: (cell, row) => row.owner !== null && row.endpoint !== null
        ? drawTwoLines(cell, readable(row.endpoint), readable(row.owner.slice(row.endpoint.length + 1)))
        : drawTwoLines(cell, ownerText(row), "", row.owner === null ? "muted" : "") },
    { title: "Lease", sort: (row) => (row.owner === null ? null : row.ends ?? Infinity), make: makeLease, draw: drawLease },
    { title: "Token", numeric: true, sort: (row) => row.token, downFirst: true,
      draw: (cell, row) => setText(cell, row.token ? String(row.token) : "–") },
    { title: "Waiting", sort: (row) => row.waits, downFirst: true, make: makeTwoLines,
      draw: (cell, row) => {
        if (row.waiting === null) return drawTwoLines(cell, row.owner === null ? "–" : "not known", "", "muted");
        if (row.waits === 0) return drawTwoLines(cell, "–", "", "muted");
        const first = row.waiting[0];
        drawTwoLines(cell, `${row.waits >= 100 ? "100 or more" : row.waits}, for ${span(serverNow() - Date.parse(first.since))}`, "next: " + readable(first.id, 80));
      } },
    { title: "Last change", sort: (row) => row.changedMs, downFirst: true, make: makeTwoLines,
      draw: (cell, row) => drawTwoLines(cell, lastChange(row), row.last_change.what === "seen" ? `for ${span(serverNow() - row.changedMs)}` : ago(serverNow() - row.changedMs), row.last_change.what === "seen" ? "muted" : "") },
  ],
});

const scheduleGrid = new Grid(byId("schedules"), {
  label: "Schedules", height: 52, describe,
  columns: [
    { title: "Mutex", sort: (row) => row.key, make: makeTwoLines,
      draw: (cell, row) => drawTwoLines(cell, readable(row.mutex), "", "name") },
    { title: "Definition", sort: (row) => row.schedule.definition,
      make: makeTwoLines,
      draw: (cell, row) => drawTwoLines(cell, row.schedule.definition ? readable(row.schedule.definition) : "keys of run --slot", row.schedule.paused ? "paused" : "") },
    { title: "Last slot", sort: (row) => row.schedule.last_slot, make: makeTwoLines, downFirst: true,
      draw: (cell, row) => drawSlot(cell, row.schedule.last_slot) },
    { title: "Next slot", sort: (row) => row.schedule.next_slot, make: makeTwoLines,
      draw: (cell, row) => drawSlot(cell, row.schedule.paused ? null : row.schedule.next_slot) },
    { title: "Last run", sort: (row) => row.schedule.last_outcome, make: (cell) => { cell.pill = element("span", "pill"); cell.append(cell.pill); },
      draw: (cell, row) => {
        setText(cell.pill, row.schedule.last_outcome ?? "none");
        setClass(cell.pill, "pill " + (row.schedule.last_outcome ?? ""));
      } },
    { title: "Owner", sort: (row) => row.owner, make: makeTwoLines,
      draw: (cell, row) => drawTwoLines(cell, ownerText(row), "", row.owner === null ? "muted" : "") },
  ],
});

function drawSlot(cell, slot) {
  if (!slot) return drawTwoLines(cell, "–", "", "muted");
  const ms = Date.parse(slot);
  const left = ms - serverNow();
  drawTwoLines(cell, moment(ms), left > 0 ? `in ${span(left)}` : ago(-left));
}

// ---- the timeline ----------------------------------------------------------------------------

let shownSpan = 300000;

// Who owned it between two moments: [{from, to, owner, token, what}], oldest first.
function ownersBetween(row, from, to) {
  const pieces = [];
  const known = history.get(row.mutex) ?? [];
  const begin = Math.max(from, state.from);
  let at = begin;
  let owner = known.length ? known[0].before : row.owner;
  let what = "seen";
  const push = (end) => {
    if (owner !== null && end > at && end > begin) pieces.push({ from: Math.max(at, begin), to: Math.min(end, to), owner, what });
  };
  for (const change of known) {
    push(change.ms);
    at = Math.max(change.ms, begin);
    owner = change.owner;
    what = change.what;
    if (change.ms > to) return pieces;
  }
  push(to);
  return pieces;
}

function drawLane(canvas, row, from, to) {
  const scale = window.devicePixelRatio || 1;
  const width = Math.round(canvas.clientWidth * scale);
  const height = Math.round(canvas.clientHeight * scale);
  if (width === 0) return;
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
  const style = getComputedStyle(document.documentElement);
  const brush = canvas.getContext("2d");
  const x = (ms) => ((ms - from) / (to - from)) * width;
  brush.clearRect(0, 0, width, height);
  brush.fillStyle = style.getPropertyValue("--track");
  const known = Math.max(0, Math.min(width, x(state.from)));
  brush.fillRect(known, 0, width - known, height);
  canvas.pieces = ownersBetween(row, from, to);
  canvas.bounds = { from, to };
  for (const piece of canvas.pieces) {
    const left = x(piece.from);
    const right = Math.max(left + scale, x(piece.to));
    brush.fillStyle = colourOf(piece.owner);
    brush.fillRect(left, 0, right - left, height);
    if (right - left > 4 * scale && left > known) {
      brush.fillStyle = style.getPropertyValue("--card");
      brush.fillRect(left, 0, Math.max(1, scale), height);
    }
    if (right - left > 70 * scale) {
      brush.save();
      brush.beginPath();
      brush.rect(left, 0, right - left - 6 * scale, height);
      brush.clip();
      brush.fillStyle = "#fff";
      brush.font = `600 ${11 * scale}px system-ui, "DejaVu Sans", sans-serif`;
      brush.textBaseline = "middle";
      brush.fillText(readable(placeOf(piece.owner), 80), left + 8 * scale, height / 2 + scale * 0.5);
      brush.restore();
    }
  }
}

function describeLane(canvas, row) {
  const owners = new Set(canvas.pieces?.map((piece) => piece.owner) ?? []);
  canvas.setAttribute("aria-label", `${plural(owners.size, "owner")} in this time, ${row.owner === null ? "now free" : "now " + readable(row.owner, 80)}`);
}

function makeCanvas() {
  const canvas = element("canvas");
  canvas.setAttribute("role", "img");
  canvas.addEventListener("pointermove", (event) => showTip(event, canvas));
  canvas.addEventListener("pointerleave", () => { byId("tip").hidden = true; });
  return canvas;
}

function showTip(event, canvas) {
  const tip = byId("tip");
  const box = canvas.getBoundingClientRect();
  if (!canvas.bounds) return;
  const { from, to } = canvas.bounds;
  const ms = from + ((event.clientX - box.left) / box.width) * (to - from);
  const slack = ((to - from) / box.width) * 2;
  const piece = canvas.pieces.findLast((one) => ms >= one.from - slack && ms <= one.to + slack);
  tip.hidden = false;
  setText(tip, piece
    ? `${readable(piece.owner, 160)}\n${clock(piece.from)} – ${piece.to >= to - 1000 ? "now" : clock(piece.to)}, ${span(piece.to - piece.from)}\n${piece.what === "seen" ? "had it before" : words[piece.what]}`
    : ms < state.from ? "Not seen by this server" : `free at ${clock(ms)}`);
  const wide = tip.offsetWidth;
  tip.style.left = `${Math.max(8, Math.min(window.innerWidth - wide - 8, event.clientX + 12))}px`;
  tip.style.top = `${event.clientY + 18 + tip.offsetHeight > window.innerHeight ? event.clientY - tip.offsetHeight - 10 : event.clientY + 18}px`;
}

function drawAxis(axis, from, to) {
  const steps = [5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600].map((s) => s * 1000);
  const step = steps.find((one) => (to - from) / one <= 8) ?? 21600000;
  const first = Math.ceil(from / step) * step;
  const marks = [];
  for (let ms = first; ms < to - (to - from) * 0.09; ms += step) marks.push([(ms - from) / (to - from), clock(ms)]);
  marks.push([1, "now"]);
  while (axis.childElementCount < marks.length) axis.append(element("span"));
  while (axis.childElementCount > marks.length) axis.lastChild.remove();
  marks.forEach(([at, text], i) => {
    axis.children[i].style.left = `${(at * 100).toFixed(3)}%`;
    setText(axis.children[i], text);
  });
}

const timelineAxis = element("div", "axis");
const timelineGrid = new Grid(byId("timeline"), {
  label: "Timeline of owners", height: 40, describe,
  columns: [
    { title: "Mutex", sort: (row) => row.key,
      make: (cell) => cell.classList.add("text", "name"),
      draw: (cell, row) => setText(cell, readable(row.mutex)) },
    { title: "Owners", head: (cell) => cell.append(timelineAxis),
      make: (cell) => { cell.canvas = makeCanvas(); cell.append(cell.canvas); },
      draw: (cell, row) => {
        const now = serverNow();
        drawLane(cell.canvas, row, now - shownSpan, now);
        describeLane(cell.canvas, row);
      } },
  ],
});

// ---- one mutex -------------------------------------------------------------------------------

const detail = {
  object: null, asked: 0, timer: 0, busy: false, problem: "",
  lease: byId("mutex-lease"), canvas: makeCanvas(), axis: element("div", "axis"),

  open(name) {
    this.object = null;
    this.problem = "";
    this.tell("");
    setText(byId("mutex-title"), readable(name, 2000));
    document.title = `${readable(name, 60)} – Simba`;
    this.refresh(true);
    this.draw();
  },

  // Not more than once a second, however often it changes.
  refresh(now) {
    if (current.view !== "mutex" || this.busy) { this.again = true; return; }
    clearTimeout(this.timer);
    const wait = now ? 0 : Math.max(0, this.asked + 1000 - performance.now());
    this.timer = setTimeout(() => this.fetch(), wait);
  },

  async fetch() {
    const name = current.name;
    this.busy = true;
    this.again = false;
    this.asked = performance.now();
    try {
      const object = await ask("/api/mutexes/" + encodeURIComponent(name));
      if (name === current.name) { this.object = object; this.problem = ""; }
    } catch (error) {
      if (name === current.name) this.problem = error.message;
    }
    this.busy = false;
    if (name !== current.name || this.again) this.refresh(name !== current.name);
    this.draw();
  },

  tell(text, bad) {
    const node = byId("mutex-message");
    setText(node, text);
    node.classList.toggle("bad", Boolean(bad));
  },

  row() { return state.byName.get(current.name); },

  draw() {
    const row = this.row();
    const pill = byId("mutex-state");
    setText(pill, !row ? "unknown" : row.owner === null ? "free" : "owned");
    setClass(pill, "pill" + (row && row.owner !== null ? " owned" : ""));
    byId("release").hidden = !state.allowsRelease || !row || row.owner === null;
    if (!row) {
      for (const id of ["mutex-facts", "mutex-waiting"]) byId(id).replaceChildren();
      setText(byId("mutex-waiting-note"), "");
      setText(byId("mutex-changes-note"), state.loaded ? "The store has no mutex of this name at present." : "");
      return;
    }
    this.drawFacts(row);
    this.drawWaiting(row);
    this.drawChanges(row);
    this.drawSchedule();
    this.tick();
  },

  drawFacts(row) {
    const facts = [["Owner", row.owner === null ? "nobody" : readable(row.owner, 2000)]];
    if (row.endpoint !== null && row.owner !== null) facts.push(["Endpoint", readable(row.endpoint, 500)]);
    if (row.owner !== null) {
      facts.push(["Since", row.owned_before ? `before ${moment(row.sinceMs)}` : moment(row.sinceMs, true)]);
    }
    facts.push([row.owner === null ? "Last fencing token" : "Fencing token", row.token ? String(row.token) : "none"]);
    facts.push(["Last change", row.last_change.what === "seen" ? `none seen since ${moment(row.changedMs)}` : `${lastChange(row)}, ${moment(row.changedMs, true)}`]);
    if (row.last_change.before) facts.push(["Owner before", readable(row.last_change.before, 2000)]);
    fillFacts(byId("mutex-facts"), facts);
  },

  drawWaiting(row) {
    const list = byId("mutex-waiting");
    const waiting = row.waiting ?? [];
    byId("mutex-waiting-count").hidden = row.waiting === null;
    setText(byId("mutex-waiting-count"), String(waiting.length));
    while (list.childElementCount > waiting.length) list.lastChild.remove();
    while (list.childElementCount < waiting.length) {
      const item = element("li");
      item.append(element("span", "text"), element("span", "muted"));
      list.append(item);
    }
    waiting.forEach((one, i) => {
      setText(list.children[i].firstChild, readable(one.id, 500));
      setText(list.children[i].lastChild, `since ${clock(Date.parse(one.since))}, ${span(serverNow() - Date.parse(one.since))}`);
    });
    setText(byId("mutex-waiting-note"), row.waiting === null
      ? "This kind of store does not know who waits."
      : waiting.length === 0 ? "Nobody waits." : waiting.length >= 100 ? "Only the first hundred are shown." : "");
  },

  drawChanges(row) {
    const own = (history.get(row.mutex) ?? this.object?.changes ?? []).slice(-200).reverse();
    fillTable(byId("mutex-changes"), own.map((change) => [
      moment(change.ms ?? Date.parse(change.at), true),
      words[change.what] ?? change.what,
      change.owner === null ? "–" : readable(change.owner, 500),
      change.before === null ? "–" : readable(change.before, 500),
      change.token ? String(change.token) : "–",
    ]), [4]);
    setText(byId("mutex-changes-note"), own.length === 0
      ? `No change since ${moment(state.from)}, when this server began to look.`
      : this.problem ? `The server could not tell more: ${this.problem}` : "");
  },

  drawSchedule() {
    const row = this.row();
    const schedule = row?.schedule ?? null;
    byId("mutex-schedule").hidden = schedule === null;
    if (schedule === null) return;
    const facts = [];
    if (schedule.definition) {
      facts.push(["Definition", readable(schedule.definition, 500) + (schedule.paused ? " (paused)" : "")]);
    }
    if (schedule.last_slot) facts.push(["Last slot", moment(Date.parse(schedule.last_slot))]);
    if (schedule.next_slot) facts.push(["Next slot", moment(Date.parse(schedule.next_slot))]);
    fillFacts(byId("mutex-schedule-facts"), facts);
    fillTable(byId("mutex-runs"), (this.object?.runs ?? []).slice().reverse().map((run) => [
      moment(Date.parse(run.begun)), readable(run.slot, 200), String(run.attempt), { pill: run.outcome },
      run.duration_ms === null ? "–" : span(run.duration_ms), readable(run.contender_id, 200),
      run.message ? readable(run.message, 500) : run.exit_code !== null ? `exit code ${run.exit_code}` : "–",
    ]), [2]);
  },

  // What changes by the time alone.
  tick() {
    const row = this.row();
    if (!row) return;
    drawLease(this.lease, row);
    const now = serverNow();
    drawLane(this.canvas, row, now - shownSpan, now);
    describeLane(this.canvas, row);
    drawAxis(this.axis, now - shownSpan, now);
  },
};
makeLease(detail.lease);
byId("mutex-lane").append(detail.canvas, detail.axis);

function fillFacts(list, facts) {
  while (list.childElementCount > facts.length * 2) list.lastChild.remove();
  while (list.childElementCount < facts.length * 2) list.append(element("dt"), element("dd", "text"));
  facts.forEach(([name, text], i) => {
    setText(list.children[i * 2], name);
    setText(list.children[i * 2 + 1], text);
  });
}

// A cell is a text, or {pill}.
function fillTable(table, rows, numeric) {
  const body = table.tBodies[0];
  table.hidden = rows.length === 0;
  while (body.rows.length > rows.length) body.lastChild.remove();
  rows.forEach((cells, i) => {
    let line = body.rows[i];
    if (!line) {
      line = element("tr");
      cells.forEach((cell, c) => {
        const made = element("td", numeric.includes(c) ? "number" : "text");
        if (cell.pill) made.append(element("span", "pill"));
        line.append(made);
      });
      body.append(line);
    }
    cells.forEach((cell, c) => {
      if (!cell.pill) return setText(line.cells[c], cell);
      setText(line.cells[c].firstChild, cell.pill);
      setClass(line.cells[c].firstChild, "pill " + cell.pill);
    });
  });
}

// ---- release by force ------------------------------------------------------------------------

const dialog = byId("confirm");
let asked = null;

byId("release").addEventListener("click", () => {
  const row = detail.row();
  if (!row || row.owner === null) return;
  asked = { mutex: row.mutex, owner: row.owner };
  fillFacts(byId("confirm-facts"), [["Mutex", readable(row.mutex, 500)], ["Owner", readable(row.owner, 500)]]);
  byId("confirm-check").checked = false;
  byId("confirm-yes").disabled = true;
  dialog.returnValue = "cancel";
  dialog.showModal();
  byId("confirm-check").focus();
});
byId("confirm-check").addEventListener("change", (event) => { byId("confirm-yes").disabled = !event.target.checked; });
dialog.addEventListener("close", async () => {
  if (dialog.returnValue !== "release" || !asked || !byId("confirm-check").checked) return;
  const { mutex, owner } = asked;
  try {
    await ask(`/api/mutexes/${encodeURIComponent(mutex)}/release`, { owner });
    if (current.name === mutex) detail.tell(`Released by force; it was owned by ${readable(owner, 200)}.`);
  } catch (error) {
    if (current.name === mutex) detail.tell(`Not released: ${readable(error.message)}`, true);
  }
});

// ---- health ----------------------------------------------------------------------------------

function fillTiles(list, tiles) {
  while (list.childElementCount > tiles.length) list.lastChild.remove();
  while (list.childElementCount < tiles.length) {
    const tile = element("div");
    tile.append(element("dt"), element("dd"));
    list.append(tile);
  }
  tiles.forEach(([name, text, className], i) => {
    const [title, value] = list.children[i].children;
    setText(title, name);
    setText(value, text);
    setClass(value, className ?? "");
    value.title = text;
  });
}

function showHealth() {
  const health = state.health;
  if (!health) return;
  setText(byId("store"), readable(health.store));
  byId("store").title = readable(health.store, 1000);
  const problems = health.findings.filter((one) => one.weight === "problem").length + (health.reachable ? 0 : 1);
  const warnings = health.findings.filter((one) => one.weight === "warning").length;
  const badge = byId("health-badge");
  badge.hidden = problems + warnings === 0;
  setText(badge, String(problems || warnings));
  setClass(badge, "badge " + (problems ? "problem" : "warning"));
  badge.setAttribute("aria-label", problems ? plural(problems, "problem") : plural(warnings, "warning"));
  const banner = byId("banner");
  const away = !health.reachable && health.error;
  banner.hidden = !away;
  setText(banner, away
    ? `The store cannot be reached${health.unreachable_since ? " since " + moment(Date.parse(health.unreachable_since)) : ""}: ${readable(health.error)}${health.looked ? ". Shown is what was seen at " + clock(Date.parse(health.looked)) + "." : ""}`
    : "");
  const offset = health.clock;
  fillTiles(byId("health-tiles"), [
    ["Store", health.reachable ? "answers" : "unreachable", health.reachable ? "" : "bad"],
    ["Server", health.server ? readable(health.server) : "–", "small"],
    ["A look at all mutexes takes", `${counts.format(health.look_ms)} ms`],
    ["Its clock against this host's", offset ? `${offset.offset_ms > 0 ? "+" : ""}${offset.offset_ms} ms ± ${offset.error_ms} ms` : "–", "small"],
    ["Examined", health.examined ? clock(Date.parse(health.examined)) : "–", "small"],
  ]);
  const list = byId("findings");
  list.replaceChildren();
  for (const finding of health.findings) {
    const item = element("li");
    item.append(element("span", "pill " + finding.weight, finding.weight), element("span", "text", readable(finding.text.replaceAll("\n", " "), 4000)));
    list.append(item);
  }
  if (health.findings.length === 0) list.append(element("li", "muted", health.examined ? "Nothing to report." : "Not examined yet."));
}

// ---- views -----------------------------------------------------------------------------------

const current = { view: "", name: "" };
const viewNames = ["mutexes", "schedules", "timeline", "health", "mutex"];

function openMutex(name) {
  let encoded;
  try { encoded = encodeURIComponent(name); } catch { return; }
  location.hash = "#/mutex/" + encoded;
}

function needLogin() {
  disconnect();
  setLive("away");
  switchTo("login");
  byId("token").focus();
}

function switchTo(view, name = "") {
  const changed = current.view !== view || current.name !== name;
  current.view = view;
  current.name = name;
  for (const one of [...viewNames, "login"]) byId("view-" + one).hidden = one !== view;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.view === view || (view === "mutex" && link.dataset.view === "mutexes")) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  byId("tip").hidden = true;
  return changed;
}

function show() {
  const hash = location.hash.slice(2);
  const slash = hash.indexOf("/");
  let view = slash < 0 ? hash : hash.slice(0, slash);
  let name = "";
  if (view === "mutex") {
    try { name = decodeURIComponent(hash.slice(slash + 1)); } catch { view = "mutexes"; }
  }
  if (!viewNames.includes(view)) view = "mutexes";
  const changed = switchTo(view, name);
  if (view === "mutex") {
    if (changed) { detail.open(name); byId("mutex-title").focus(); } else { detail.draw(); }
  } else {
    document.title = "Simba";
  }
  views.stale = true;
  views.update(true);
}

const views = {
  stale: true, updated: 0,

  // Filters and sorts again, but not more than twice a second.
  update(now) {
    const time = performance.now();
    if (!this.stale || !state.loaded || (!now && time - this.updated < 500)) return;
    this.stale = false;
    this.updated = time;
    const all = [...state.byId.values()];
    const scheduled = all.filter((row) => row.schedule !== null);
    byId("schedules-badge").hidden = scheduled.length === 0;
    setText(byId("schedules-badge"), counts.format(scheduled.length));
    if (current.view === "mutexes") this.mutexes(all);
    if (current.view === "schedules") scheduleGrid.setRows(scheduled, "No schedule shares its slots through this store.");
    if (current.view === "timeline") this.timeline(all);
    if (current.view === "mutex") detail.draw();
  },

  mutexes(all) {
    const owned = all.filter((row) => row.owner !== null).length;
    const known = all.some((row) => row.waiting !== null);
    const since = serverNow() - 60000;
    let recent = 0;
    for (let i = state.changes.length - 1; i >= 0 && state.changes[i].ms >= since; --i) ++recent;
    fillTiles(byId("tiles"), [
      ["Mutexes", counts.format(all.length)],
      ["Owned", counts.format(owned)],
      ["Free", counts.format(all.length - owned)],
      ["Contenders waiting", known ? counts.format(all.reduce((sum, row) => sum + row.waits, 0)) : "not known", known ? "" : "small"],
      ["Changes in the last minute", counts.format(recent)],
    ]);
    const text = byId("search").value.trim().toLowerCase();
    const filter = byId("filters").querySelector(":checked").value;
    const fits = {
      all: () => true, owned: (row) => row.owner !== null, free: (row) => row.owner === null, waiting: (row) => row.waits > 0,
    }[filter];
    const rows = all.filter((row) => fits(row) && (text === "" || row.search.includes(text)));
    setText(byId("shown"), rows.length === all.length ? plural(all.length, "mutex", "mutexes") : `${counts.format(rows.length)} of ${counts.format(all.length)} mutexes`);
    mutexGrid.setRows(rows, all.length === 0 ? "No mutexes in the store yet." : "No mutex matches.");
  },

  timeline(all) {
    const text = byId("timeline-search").value.trim().toLowerCase();
    setText(byId("timeline-from"), state.from ? `Seen since ${moment(state.from)}` : "");
    timelineGrid.setRows(all.filter((row) => text === "" || row.search.includes(text)), "No mutexes.");
  },

  // As time goes by.
  tick() {
    this.update(false);
    if (current.view === "mutexes") mutexGrid.draw();
    if (current.view === "schedules") scheduleGrid.draw();
    if (current.view === "mutex") detail.tick();
    if (current.view === "timeline") {
      const now = serverNow();
      drawAxis(timelineAxis, now - shownSpan, now);
      timelineGrid.draw();
    }
  },
};

// Ten times a second is enough for a bar, and four for a timeline.
let lastTick = 0;
function frame(time) {
  if (time - lastTick >= (current.view === "timeline" ? 250 : 100)) {
    lastTick = time;
    if (state.loaded && !document.hidden) views.tick();
  }
  requestAnimationFrame(frame);
}

for (const id of ["search", "timeline-search"]) {
  byId(id).addEventListener("input", () => { views.stale = true; views.update(true); });
}
byId("filters").addEventListener("change", () => { views.stale = true; views.update(true); });
byId("spans").addEventListener("change", (event) => { shownSpan = Number(event.target.value) * 1000; views.tick(); });
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || /^(INPUT|TEXTAREA)$/.test(event.target.tagName)) return;
  const box = byId(current.view === "timeline" ? "timeline-search" : "search");
  if (box.closest("[hidden]")) return;
  event.preventDefault();
  box.focus();
});
byId("skip").addEventListener("click", (event) => { event.preventDefault(); byId("main").focus(); });
window.addEventListener("hashchange", () => { if (current.view !== "login") show(); });
window.addEventListener("resize", () => { if (state.loaded) views.tick(); });

// ---- log in and out --------------------------------------------------------------------------

byId("login").addEventListener("submit", async (event) => {
  event.preventDefault();
  const box = byId("token");
  setText(byId("login-error"), "");
  try {
    await ask("/api/login", { token: box.value.trim() });
    box.value = "";
    connect();
  } catch (error) {
    setText(byId("login-error"), readable(error.message));
  }
});
byId("logout").addEventListener("click", async () => {
  try { await ask("/api/logout", {}); } catch { /* nothing is left to do */ }
  disconnect();
  location.reload();
});

// ---- colours ---------------------------------------------------------------------------------

const systemDark = matchMedia("(prefers-color-scheme: dark)");
let choice = "system";
try { choice = localStorage.getItem("simba-theme") ?? "system"; } catch { /* not allowed: as the system */ }

function applyTheme() {
  document.documentElement.dataset.theme = (choice === "system" ? systemDark.matches : choice === "dark") ? "dark" : "light";
  const button = byId("theme");
  button.dataset.choice = choice;
  button.setAttribute("aria-label", `Colours: ${choice === "system" ? "as the system" : choice}`);
  button.title = button.getAttribute("aria-label");
}
byId("theme").addEventListener("click", () => {
  choice = { system: "light", light: "dark", dark: "system" }[choice] ?? "system";
  try { localStorage.setItem("simba-theme", choice); } catch { /* lasts as long as the page */ }
  applyTheme();
  if (state.loaded) views.tick();
});
systemDark.addEventListener("change", applyTheme);
applyTheme();

show();
connect();
requestAnimationFrame(frame);
})();
