
// Controls of the page, and the start of a report's.

// ---- toolbar and legend ----

function redrawAll() {
  charts.forEach(chart => chart.redraw());
}

function setHidden(hidden) {
  state.hidden = hidden;
  for (const button of document.querySelectorAll('.legend button')) {
    button.setAttribute('aria-pressed', isVisible(Number(button.dataset.series)));
  }
  redrawAll();
}

function toggle(index) {
  const hidden = new Set(state.hidden);
  if (!hidden.delete(index)) hidden.add(index);
  setHidden(hidden);
}

function isolate(index) {
  const others = data.series.map((_, i) => i).filter(i => i !== index);
  const isAlone = isVisible(index) && others.every(i => !isVisible(i));
  setHidden(new Set(isAlone ? [] : others));
}

function makeLegend() {
  const buttons = (data.series ?? []).map((name, index) => {
    const button = html('button', {
      type: 'button', 'aria-pressed': isVisible(index), 'data-series': index,
      title: 'Click to hide or show. Double-click to show this one alone.',
    }, swatch(index), name);
    button.addEventListener('click', event => (event.altKey ? isolate(index) : toggle(index)));
    button.addEventListener('dblclick', () => isolate(index));
    return button;
  });
  return html('div', { class: 'legend', role: 'group', 'aria-label': 'series shown' }, ...buttons);
}

function makeSelect(id, label, options, chosen, onChange) {
  const select = html('select', { id }, ...options.map(([value, text]) => html('option', { value }, text)));
  select.value = chosen;
  select.addEventListener('change', () => { onChange(select.value); redrawAll(); });
  return html('label', {}, `${label} `, select);
}

function makeToolbar() {
  const windows = [...new Set([1, 5, 25, state.window])].sort((a, b) => a - b);
  return html('div', { class: 'toolbar' }, makeLegend(), html('div', { class: 'choices' },
    makeSelect('x-axis', 'x axis', Object.entries(data.x_labels), state.x, value => { state.x = value; }),
    makeSelect('smoothing', 'moving average', windows.map(w => [w, w === 1 ? 'none' : `${w} points`]),
      state.window, value => { state.window = Number(value); })));
}

// ---- page ----

function showSection(id, isShown) {
  for (const node of document.querySelectorAll(`#${id}, nav a[href="#${id}"]`)) node.hidden = !isShown;
}

const sections = [
  { id: 'figures', grid: 'charts', items: content => content.panels ?? [], controls: makeToolbar, Kind: LineChart },
  { id: 'metrics', grid: 'scatter', items: content => content.scatters ?? [], controls: makeLegend, Kind: Scatter },
];

function buildSection({ id, grid: gridId, items, controls, Kind }) {
  const grid = document.getElementById(gridId);
  if (!grid) return;
  grid.replaceChildren();
  document.querySelector(`#${id} > .toolbar, #${id} > .legend`)?.remove();
  const all = items(data);
  showSection(id, all.length > 0);
  if (!all.length) return;
  grid.classList.add('grid');
  // Two or four panels look better in two columns than in a ragged three.
  grid.style.setProperty('--columns', all.length === 2 || all.length === 4 ? 2 : 3);
  grid.before(controls());
  all.forEach(item => new Kind(grid, item));
}

// What decides which panels and controls there are; everything else only changes what is drawn in them.
const shapeOf = content => JSON.stringify([content.series, content.x_labels,
  (content.panels ?? []).map(p => [p.title, p.label, p.is_log]), (content.scatters ?? []).map(s => [s.metric, s.gap])]);

let shape = null;

function showContent(content) {
  const next = shapeOf(content);
  const isSame = next === shape;
  const hasSameSeries = JSON.stringify(content.series) === JSON.stringify(data.series);
  data = content;
  shape = next;
  if (isSame) {
    const items = sections.flatMap(section => section.items(data));
    charts.forEach((chart, i) => chart.update(items[i]));
    return;
  }
  if (!hasSameSeries) state.hidden = new Set();
  if (!(state.x in (data.x_labels ?? {}))) state.x = data.x_axis in (data.x_labels ?? {}) ? data.x_axis : 'epochs';
  charts.length = 0;
  tooltip.hidden = true;
  sections.forEach(buildSection);
  redrawAll();
}

function openCell(hash) {
  const cell = hash.startsWith('#cell-') && document.getElementById(hash.slice(1));
  if (!cell) return;
  cell.open = true;
  cell.scrollIntoView({ block: 'start' });
}

document.body.append(tooltip);
new ResizeObserver(() => {
  charts.filter(chart => chart.stage.clientWidth !== chart.width).forEach(chart => chart.redraw());
}).observe(document.body);

// A second click on the same link changes no hash, so clicks are heard as well.
document.addEventListener('click', event => {
  const link = event.target.closest?.('a[href^="#cell-"]');
  if (link) openCell(link.hash);
});
window.addEventListener('hashchange', () => openCell(location.hash));
if (!('live' in document.body.dataset)) {
  showContent(data);
  openCell(location.hash);
}
