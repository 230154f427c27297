
// The grid of a sweep as it fills up, and what needs somebody's attention.

const matrix = { squares: new Map(), values: [], shape: '', alerts: '' };

function makeSquare(id) {
  const square = html('button', { type: 'button', class: 'square', 'data-id': id });
  square.addEventListener('click', () => { openRun(id).then(() => document.getElementById('detail').scrollIntoView({ block: 'nearest' })); });
  matrix.squares.set(id, [...(matrix.squares.get(id) ?? []), square]);
  return square;
}

function buildMatrix(grid) {
  const place = document.getElementById('matrix');
  matrix.squares.clear();
  matrix.values = [];
  const columns = grid.axes.at(-1).labels;
  const rows = new Map();
  for (const cell of grid.cells) {
    const key = JSON.stringify([...cell.labels.slice(0, -1), cell.choice ?? '']);
    if (!rows.has(key)) rows.set(key, { labels: [...cell.labels.slice(0, -1), ...(cell.choice ? [cell.choice] : [])], cells: new Map() });
    rows.get(key).cells.set(cell.labels.at(-1), cell);
  }
  const makeCell = cell => {
    if (!cell) return html('td', { class: 'missing' });
    const value = html('span', { class: 'mean' });
    matrix.values.push({ cell, value });
    return html('td', {}, value, html('span', { class: 'squares' }, ...cell.runs.map(makeSquare)));
  };
  const names = [...grid.axes.slice(0, -1).map(axis => axis.name), ...(grid.cells.some(cell => cell.choice) ? ['tried'] : [])];
  place.replaceChildren(
    html('p', { class: 'note' }, `A square for every run. The number is the newest ${grid.label}: mean ± standard deviation over the runs that have one.`),
    html('div', { class: 'wide high', tabindex: 0, role: 'region', 'aria-label': 'runs of the sweep' }, html('table', { class: 'results matrix' },
      html('thead', {}, html('tr', {}, ...names.map(name => html('th', {}, name)), ...columns.map(label => html('th', { class: 'column' }, label)))),
      html('tbody', {}, ...[...rows.values()].map(row => html('tr', {},
        ...names.map((_, i) => html('th', {}, row.labels[i] ?? '')),
        ...columns.map(column => makeCell(row.cells.get(column)))))))));
}

function meanAndSpread(values) {
  const mean = values.reduce((sum, v) => sum + v, 0) / values.length;
  const std = values.length > 1 ? Math.sqrt(values.reduce((sum, v) => sum + (v - mean) ** 2, 0) / (values.length - 1)) : null;
  return { mean, std };
}

function drawMatrix() {
  const { grid } = live;
  showSection('progress', Boolean(grid));
  if (!grid) return;
  const next = JSON.stringify([grid.axes, grid.cells]);
  if (next !== matrix.shape) { matrix.shape = next; buildMatrix(grid); }
  for (const [id, squares] of matrix.squares) {
    const run = live.runs.get(id);
    const status = run?.status ?? 'waiting';
    for (const square of squares) {
      if (run && square.run === run) continue;
      square.run = run;
      square.className = `square state-${status}`;
      square.style.setProperty('--done', percent(run?.progress ?? 0));
      square.title = `${run ? nameOfRun(run) : id}: ${status}${run ? `, ${percent(run.progress)}` : ''}`;
      square.setAttribute('aria-label', square.title);
    }
  }
  for (const { cell, value } of matrix.values) {
    const values = cell.runs.map(id => live.runs.get(id)?.last?.[grid.quantity]).filter(isNumber);
    if (!values.length) { value.textContent = ''; continue; }
    const { mean, std } = meanAndSpread(values);
    value.textContent = `${mean.toFixed(grid.digits)}${std === null ? '' : ` ± ${std.toFixed(grid.digits)}`} (${values.length})`;
  }
}

// Failed and broken runs, and those that say nothing, on top of everything.
function drawAlerts() {
  const bad = [...live.runs.values()].filter(run => ['failed', 'broken', 'silent'].includes(run.status));
  const most = 5;
  const next = JSON.stringify([bad.length, bad.slice(0, most).map(run => [run.id, run.status, describeRun(run)])]);
  if (next === matrix.alerts) return;
  matrix.alerts = next;
  const lines = bad.slice(0, most).map(run => {
    const link = html('button', { type: 'button', class: 'link' }, nameOfRun(run));
    link.addEventListener('click', () => { openRun(run.id).then(() => document.getElementById('detail').scrollIntoView()); });
    return html('p', { class: 'notice', 'data-id': run.id }, stateBadge(run.status), ' ', link, ' ', describeRun(run).split('\n')[0]);
  });
  if (bad.length > most) lines.push(html('p', { class: 'notice' }, `and ${bad.length - most} more, in the list below`));
  document.getElementById('alerts').replaceChildren(...lines);
}

function drawFacts() {
  const counts = new Map();
  for (const run of live.runs.values()) counts.set(run.status, (counts.get(run.status) ?? 0) + 1);
  const facts = STATES.filter(state => counts.has(state)).map(state => html('span', { class: 'fact' }, stateBadge(state), ` ${counts.get(state)}`));
  document.getElementById('facts').replaceChildren(...facts);
}
