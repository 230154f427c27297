
// The list of runs that are watched: as many rows as fit are in the page, however many runs there are.

const live = { runs: new Map(), sweeps: [], sweep: null, ticked: new Set(), open: null, filter: '', wanted: 'all', rows: [] };
const STATES = ['running', 'silent', 'failed', 'broken', 'interrupted', 'diverged', 'waiting', 'done'];
const ROW_HEIGHT = 56; // as .run in style.css

const nameOfRun = run => run.labels ? [...run.labels, `seed ${run.seed}`].join(', ') : run.path.split('/').slice(-2).join('/');
const compareNames = new Intl.Collator('en', { numeric: true }).compare;
const percent = share => `${Math.floor(100 * share)}%`;

function formatSeconds(seconds) {
  if (!isNumber(seconds)) return '';
  if (seconds < 60) return `${Math.round(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

// The time, and of another day also the day.
function clock(seconds) {
  const then = new Date(1000 * seconds);
  const time = then.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', second: '2-digit' });
  return then.toDateString() === new Date().toDateString() ? time : `${then.toLocaleDateString([], { day: 'numeric', month: 'short' })}, ${time}`;
}

// What a row says beside the state: how far, how fast, how long, or since when.
function describeRun(run) {
  if (run.is_being_read && !run.error && !run.problem) return 'reading its records';
  const parts = [];
  const epoch = run.last?.epoch;
  if (isNumber(epoch)) parts.push(`epoch ${formatNumber(epoch)}`);
  if (run.status === 'running') {
    if (isNumber(run.samples_per_second)) parts.push(`${formatNumber(run.samples_per_second, 3)} samples/s`);
    if (isNumber(run.seconds_left)) parts.push(`${formatSeconds(run.seconds_left)} left`);
  }
  if (run.status === 'silent' || run.status === 'interrupted') parts.push(`since ${clock(run.changed)}`);
  if (run.machine) parts.push(run.machine);
  return run.error || run.problem || parts.join(' · ');
}

function describeValue(run) {
  const key = live.grid?.quantity ?? 'test_accuracy';
  const value = run.last?.[key];
  if (isNumber(value)) return formatNumber(value);
  return isNumber(run.last?.running_loss) ? `loss ${formatNumber(run.last.running_loss, 3)}` : '';
}

const stateBadge = status => html('span', { class: `state state-${status}` }, status);

// ---- which runs, in which order ----

function chosenRuns() {
  const words = live.filter.toLowerCase().split(/\s+/).filter(Boolean);
  const isWanted = run => (live.wanted === 'all' || run.status === live.wanted)
    && (live.sweep === null || (run.sweep ?? '') === live.sweep)
    && words.every(word => `${nameOfRun(run)} ${run.path} ${run.method ?? ''} ${run.model ?? ''}`.toLowerCase().includes(word));
  const place = run => STATES.indexOf(run.status);
  return [...live.runs.values()].filter(isWanted).map(run => ({ run, place: place(run), name: nameOfRun(run) }))
    .sort((a, b) => a.place - b.place || compareNames(a.name, b.name)).map(({ run }) => run);
}

// ---- the list ----

const list = { window: null, rows: null, count: null, empty: null, clear: null, current: -1, isHeld: false };

function makeRow(run, index) {
  const tick = html('input', { type: 'checkbox', 'aria-label': `compare ${nameOfRun(run)}`, tabindex: -1 });
  tick.checked = live.ticked.has(run.id);
  tick.addEventListener('click', event => { event.stopPropagation(); toggleTick(run.id); });
  const bar = html('span', { class: 'bar' }, html('span', { class: `fill state-${run.status}`, style: `width: ${percent(run.progress)}` }));
  const row = html('div', {
    class: 'run', role: 'row', 'data-id': run.id, 'aria-rowindex': index + 1, 'aria-selected': index === list.current,
    style: `top: ${index * ROW_HEIGHT}px`,
  },
    html('span', { role: 'gridcell', class: 'tick' }, tick),
    html('span', { role: 'gridcell', class: 'what' }, html('b', {}, nameOfRun(run)),
      html('span', { class: run.error || run.problem ? 'trouble' : 'count' }, describeRun(run))),
    html('span', { role: 'gridcell', class: 'value' }, describeValue(run)),
    html('span', { role: 'gridcell', class: 'how' }, stateBadge(run.status), bar, html('span', { class: 'count' }, percent(run.progress))));
  row.addEventListener('click', () => { list.current = index; openRun(run.id); });
  return row;
}

function drawRows() {
  const { window: view, rows, isHeld } = list;
  // A row that is replaced between press and release would not hear the click.
  if (isHeld) return;
  rows.style.height = `${live.rows.length * ROW_HEIGHT}px`;
  const from = Math.max(0, Math.floor(view.scrollTop / ROW_HEIGHT) - 4);
  const to = Math.min(live.rows.length, Math.ceil((view.scrollTop + view.clientHeight) / ROW_HEIGHT) + 4);
  rows.replaceChildren(...live.rows.slice(from, to).map((run, i) => makeRow(run, from + i)));
}

function drawList() {
  live.rows = chosenRuns();
  list.window.setAttribute('aria-rowcount', live.rows.length);
  const all = live.runs.size;
  const unread = live.rows.filter(run => run.is_being_read).length;
  list.count.textContent = (live.rows.length === all ? `${all} runs` : `${live.rows.length} of ${all} runs`)
    + (unread ? `, reading the records of ${unread}` : '');
  list.clear.hidden = !live.ticked.size;
  list.clear.textContent = `untick ${live.ticked.size}`;
  list.empty.textContent = live.rows.length ? '' : describeEmptyList();
  list.window.hidden = !live.rows.length;
  drawRows();
}

function describeEmptyList() {
  if (!live.areSweepsKnown) return 'Looking for runs.';
  return live.runs.size ? 'No run is like that.' : 'There are no runs here yet. They appear when they begin.';
}

function moveTo(index) {
  if (!live.rows.length) return;
  list.current = Math.min(live.rows.length - 1, Math.max(0, index));
  const top = list.current * ROW_HEIGHT;
  const { window: view } = list;
  if (top < view.scrollTop) view.scrollTop = top;
  if (top + ROW_HEIGHT > view.scrollTop + view.clientHeight) view.scrollTop = top + ROW_HEIGHT - view.clientHeight;
  drawRows();
}

function onListKey(event) {
  const page = Math.max(1, Math.floor(list.window.clientHeight / ROW_HEIGHT) - 1);
  const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
  const run = live.rows[list.current];
  if (event.key in moves) moveTo(list.current + moves[event.key]);
  else if (event.key === ' ' && run) toggleTick(run.id);
  else if (event.key === 'Enter' && run) openRun(run.id);
  else if (event.key === 'Escape') openRun(null);
  else return;
  event.preventDefault();
}

function toggleTick(id) {
  if (!live.ticked.delete(id)) live.ticked.add(id);
  drawList();
  onSelection();
}

function buildList() {
  const search = html('input', { type: 'search', id: 'search', placeholder: 'find runs', 'aria-label': 'find runs' });
  search.addEventListener('input', () => { live.filter = search.value; list.current = -1; drawList(); });
  const states = html('select', { id: 'wanted', 'aria-label': 'state' },
    ...['all', ...STATES].map(state => html('option', { value: state }, state === 'all' ? 'all states' : state)));
  states.addEventListener('change', () => { live.wanted = states.value; list.current = -1; drawList(); });
  list.clear = html('button', { type: 'button', id: 'untick' });
  list.clear.addEventListener('click', () => { live.ticked.clear(); drawList(); onSelection(); });
  list.count = html('span', { class: 'count', role: 'status' });
  list.rows = html('div', { class: 'run-rows', role: 'rowgroup' });
  list.window = html('div', {
    class: 'run-list', role: 'grid', tabindex: 0,
    'aria-label': 'runs; arrow keys move, space ticks a run to compare it, enter shows it',
  }, list.rows);
  list.window.addEventListener('scroll', drawRows);
  list.window.addEventListener('keydown', onListKey);
  list.window.addEventListener('pointerdown', () => { list.isHeld = true; });
  for (const end of ['pointerup', 'pointercancel']) {
    document.addEventListener(end, () => { if (list.isHeld) setTimeout(() => { list.isHeld = false; drawRows(); }); });
  }
  list.empty = html('p', { class: 'note', role: 'status' });
  document.getElementById('list').append(html('div', { class: 'toolbar' },
    html('div', { class: 'choices' }, search, states, list.clear), list.count), list.empty, list.window);
  drawList();
}

// ---- one run ----

async function openRun(id) {
  live.open = id;
  live.detailed = null;
  await drawDetail();
}

const rowsOf = (object, format = String) => Object.entries(object ?? {}).map(([key, value]) =>
  html('tr', {}, html('th', {}, key), html('td', {}, format(value))));

async function drawDetail() {
  const place = document.getElementById('detail');
  const run = live.runs.get(live.open);
  if (!run) { place.replaceChildren(); return; }
  // Only what changed is asked for and drawn again: somebody may be reading.
  if (live.detailed === run) return;
  live.detailed = run;
  // What the list knows is shown also when the server has gone.
  const detail = await fetch(`api/runs/${run.id}?from=999999999`).then(reply => (reply.ok ? reply.json() : {}), () => ({}));
  if (live.open !== run.id) return;
  const close = html('button', { type: 'button' }, 'close');
  close.addEventListener('click', () => openRun(null));
  const plain = value => typeof value === 'object' ? JSON.stringify(value) : String(value);
  const machine = Object.fromEntries(['processor', 'threads', 'processes', 'device', 'commit', 'started']
    .filter(key => detail.provenance?.[key] !== undefined).map(key => [key, detail.provenance[key]]));
  const trouble = run.error || run.problem;
  const wasOpen = place.querySelector('details')?.open ?? false;
  const config = html('details', { class: 'config' }, html('summary', {}, 'config'), html('pre', {}, detail.config_toml ?? ''));
  config.hidden = !detail.config_toml;
  config.open = wasOpen;
  place.replaceChildren(html('div', { class: 'detail' },
    html('h3', {}, nameOfRun(run), ' ', stateBadge(run.status), close),
    ...(trouble ? [html('pre', { class: 'trouble' }, trouble)] : []),
    html('p', { class: 'count' }, `${describeRun({ ...run, error: '', problem: '' })} · ${run.records} records · ${run.path}`),
    html('div', { class: 'wide columns' },
      html('table', { class: 'plain record' }, html('tbody', {}, ...rowsOf(run.last, formatNumber))),
      html('table', { class: 'plain' }, html('tbody', {}, ...rowsOf(machine, plain)))),
    config));
}
