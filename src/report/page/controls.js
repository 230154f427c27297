
// Controls of the report page, and its start.

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
  const buttons = data.series.map((name, index) => {
    const button = html('button', {
      type: 'button', 'aria-pressed': true, 'data-series': index,
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
  const windows = [...new Set([1, 5, state.window])].sort((a, b) => a - b);
  return html('div', { class: 'toolbar' }, makeLegend(), html('div', { class: 'choices' },
    makeSelect('x-axis', 'x axis', Object.entries(data.x_labels), state.x, value => { state.x = value; }),
    makeSelect('smoothing', 'moving average', windows.map(w => [w, w === 1 ? 'none' : `${w} points`]),
      state.window, value => { state.window = Number(value); })));
}

// ---- page ----

function hideSection(id) {
  for (const node of document.querySelectorAll(`#${id}, nav a[href="#${id}"]`)) node.hidden = true;
}

function fillSection(sectionId, gridId, items, controls, Kind) {
  const grid = document.getElementById(gridId);
  if (!grid) return;
  if (!items?.length) { hideSection(sectionId); return; }
  grid.classList.add('grid');
  // Two or four panels look better in two columns than in a ragged three.
  grid.style.setProperty('--columns', items.length === 2 || items.length === 4 ? 2 : 3);
  grid.before(controls());
  items.forEach(item => new Kind(grid, item));
}

function openCell(hash) {
  const cell = hash.startsWith('#cell-') && document.getElementById(hash.slice(1));
  if (!cell) return;
  cell.open = true;
  cell.scrollIntoView({ block: 'start' });
}

document.body.append(tooltip);
fillSection('figures', 'charts', data.panels, makeToolbar, LineChart);
fillSection('metrics', 'scatter', data.scatters, makeLegend, Scatter);
redrawAll();
new ResizeObserver(() => {
  charts.filter(chart => chart.stage.clientWidth !== chart.width).forEach(chart => chart.redraw());
}).observe(document.body);

// A second click on the same link changes no hash, so clicks are heard as well.
document.addEventListener('click', event => {
  const link = event.target.closest?.('a[href^="#cell-"]');
  if (link) openCell(link.hash);
});
window.addEventListener('hashchange', () => openCell(location.hash));
openCell(location.hash);
