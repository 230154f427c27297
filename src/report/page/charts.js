
// Charts of the page, drawn from the JSON in #data, or from what `batchplus watch` sends.
let data = JSON.parse(document.getElementById('data').textContent);
const state = { x: data.x_axis || 'epochs', window: data.smooth || 1, hidden: new Set() };
const charts = [];
const COLOURS = 10; // --series-0 … --series-9 in style.css
const DASHES = ['none', '6 3', '2 3'];

// ---- elements: data only ever becomes text nodes or attributes ----

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    // A page that is served may not have style attributes in its text; setting a style by script is another matter.
    if (name === 'style') node.style.cssText = value;
    else node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

const html = (name, attributes = {}, ...children) =>
  fill(document.createElement(name), attributes, children);

const svg = (name, attributes = {}, ...children) =>
  fill(document.createElementNS('http://www.w3.org/2000/svg', name), attributes, children);

// ---- how a series looks ----

const colourOf = index => `--colour: var(--series-${index % COLOURS})`;
const dashOf = index => DASHES[Math.floor(index / 5) % DASHES.length];
const nameOf = index => data.series[index] ?? `series ${index}`;
const isVisible = index => !state.hidden.has(index);

function markerPath(index, x, y, r) {
  const shapes = [
    `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`,
    `M${x - r * 0.9} ${y - r * 0.9}h${r * 1.8}v${r * 1.8}h${-r * 1.8}z`,
    `M${x} ${y - r * 1.2}l${r * 1.15} ${r * 2}h${-r * 2.3}z`,
    `M${x} ${y - r * 1.3}l${r * 1.3} ${r * 1.3}l${-r * 1.3} ${r * 1.3}l${-r * 1.3} ${-r * 1.3}z`,
    `M${x} ${y + r * 1.2}l${r * 1.15} ${-r * 2}h${-r * 2.3}z`,
  ];
  return shapes[index % shapes.length];
}

function swatch(index) {
  return svg('svg', { class: 'swatch', width: 24, height: 12, style: colourOf(index), 'aria-hidden': 'true' },
    svg('path', { class: 'line', d: 'M1 6H23', 'stroke-dasharray': dashOf(index) }),
    svg('path', { class: 'marker', d: markerPath(index, 12, 6, 3.5) }));
}

// ---- tooltip, shared by all charts ----

const tooltip = html('div', { class: 'tooltip', role: 'status', hidden: '' });

// Beside the anchor where there is room, else above it, where a finger does not cover it.
function showTooltip(stage, anchor, content) {
  tooltip.replaceChildren(...content);
  tooltip.hidden = false;
  const box = stage.getBoundingClientRect();
  const pageWidth = document.documentElement.clientWidth;
  const { offsetWidth: width, offsetHeight: height } = tooltip;
  const x = box.left + anchor.x;
  let left = x + 14;
  let top = box.top + anchor.y;
  if (left + width > pageWidth - 8) left = x - 14 - width;
  if (left < 8) {
    left = Math.min(Math.max(8, x - width / 2), pageWidth - 8 - width);
    top = box.top + anchor.y - height - 16;
  }
  tooltip.style.left = `${left + window.scrollX}px`;
  tooltip.style.top = `${top + window.scrollY}px`;
}

// ---- charts ----

// A chart has stops: places the pointer or the arrow keys can rest on.
class Chart {
  constructor(parent, title, notes) {
    this.stage = html('div', { class: 'stage', tabindex: 0, role: 'img', 'aria-label': [title, ...notes].join(', ') });
    this.notes = html('span', {});
    const caption = html('figcaption', {}, html('b', {}, title), this.notes);
    this.setNotes(notes);
    parent.append(html('figure', { class: 'panel' }, caption, this.stage));
    this.stops = [];
    this.current = -1;
    this.listen();
    charts.push(this);
  }

  setNotes(notes) {
    this.notes.textContent = notes.join(' ');
  }

  listen() {
    const { stage } = this;
    const follow = event => {
      const box = stage.getBoundingClientRect();
      this.rest(this.nearestStop(event.clientX - box.left, event.clientY - box.top));
    };
    stage.addEventListener('pointermove', follow);
    stage.addEventListener('pointerdown', follow);
    // A finger that lifts leaves the tooltip to be read; the next touch elsewhere closes it.
    stage.addEventListener('pointerleave', event => event.pointerType === 'touch' || this.rest(-1));
    stage.addEventListener('pointercancel', () => this.rest(-1));
    stage.addEventListener('blur', () => this.rest(-1));
    stage.addEventListener('keydown', event => this.onKey(event));
  }

  onKey(event) {
    const last = this.stops.length - 1;
    const targets = {
      ArrowLeft: this.current < 0 ? last : Math.max(0, this.current - 1),
      ArrowRight: Math.min(last, this.current + 1),
      Home: 0,
      End: last,
      Escape: -1,
    };
    if (!(event.key in targets)) return;
    event.preventDefault();
    this.rest(targets[event.key]);
  }

  rest(index) {
    if (index === this.current) return;
    this.current = index;
    this.overlay?.replaceChildren();
    if (index < 0) tooltip.hidden = true;
    else this.showStop(this.stops[index]);
  }

  redraw() {
    this.width = this.stage.clientWidth;
    if (!this.width) return;
    this.rest(-1);
    this.stops = [];
    this.height = Math.round(Math.min(320, Math.max(210, this.width * 0.62)));
    this.svg = svg('svg', { viewBox: `0 0 ${this.width} ${this.height}`, 'aria-hidden': 'true' });
    this.overlay = svg('g', { class: 'overlay' });
    this.draw();
    this.svg.append(this.overlay);
    this.stage.replaceChildren(this.svg);
  }

  // Drawn anew with what has come; who rests on a place stays there.
  refresh() {
    const { current } = this;
    this.redraw();
    if (current >= 0) this.rest(Math.min(current, this.stops.length - 1));
  }

  drawEmpty() {
    const where = { class: 'empty', x: this.width / 2, y: this.height / 2, 'text-anchor': 'middle' };
    this.svg.append(svg('text', where, 'nothing to draw'));
  }

  // Axes and grid; sets x and y (scales), box (plot area) and plot (clipped layer for the data).
  drawFrame({ xDomain, yDomain, isLogX, isLogY, xLabel, yLabel }) {
    const top = yLabel ? 22 : 8;
    const bottom = this.height - 38;
    this.y = makeScale(yDomain, [bottom, top], isLogY, 6);
    const longest = Math.max(...this.y.ticks.map(tick => tick.label.length), 0);
    const left = Math.max(40, longest * 6.6 + 10);
    const right = this.width - 10;
    this.x = makeScale(xDomain, [left, right], isLogX, Math.max(2, Math.floor((right - left) / 50)));
    this.box = { left, right, top, bottom };
    for (const { value, label } of this.y.ticks) {
      const y = this.y.place(value);
      this.svg.append(
        svg('path', { class: 'grid-line', d: `M${left} ${y}H${right}` }),
        svg('text', { class: 'tick', x: left - 8, y, dy: '0.34em', 'text-anchor': 'end' }, label));
    }
    for (const { value, label } of this.x.ticks) {
      const x = this.x.place(value);
      const middle = Math.min(x, this.width - label.length * 3.1); // keeps the last label inside
      this.svg.append(
        svg('path', { class: 'axis', d: `M${x} ${bottom}v4` }),
        svg('text', { class: 'tick', x: middle, y: bottom + 17, 'text-anchor': 'middle' }, label));
    }
    this.svg.append(
      svg('path', { class: 'axis', d: `M${left} ${bottom}H${right}` }),
      svg('text', { class: 'axis-label x', x: right, y: this.height - 4, 'text-anchor': 'end' }, xLabel));
    if (yLabel) this.svg.append(svg('text', { class: 'axis-label y', x: 0, y: 11 }, yLabel));
    const [width, height] = [right - left, bottom - top];
    this.plot = svg('svg', { x: left, y: top, width, height, viewBox: `${left} ${top} ${width} ${height}` });
    this.svg.append(this.plot);
  }
}

document.addEventListener('pointerdown', event => {
  for (const chart of charts) if (!chart.stage.contains(event.target)) chart.rest(-1);
});

class LineChart extends Chart {
  constructor(parent, panel) {
    super(parent, panel.title, [panel.label + (panel.is_log ? ', log scale' : '')]);
    this.panel = panel;
  }

  update(panel) {
    this.panel = panel;
    this.refresh();
  }

  // Points of one series on the chosen x axis; mean is null where the line has a gap.
  pointsOf(line) {
    const isDrawable = value => isNumber(value) && (!this.panel.is_log || value > 0);
    const xs = line[state.x] || [];
    const smoothed = values => movingAverage(values.map((v, i) => (isNumber(xs[i]) ? v : null)), state.window);
    const means = smoothed(line.mean.map(v => (isDrawable(v) ? v : null)));
    const stds = smoothed(line.std || line.mean.map(() => null));
    return means.map((mean, i) => ({ x: xs[i], mean, std: stds[i], n: line.counts ? line.counts[i] : line.n }));
  }

  yDomain(points) {
    const isLog = this.panel.is_log;
    const [low, high] = extent(points.map(p => p.mean));
    const edges = points.filter(p => p.std !== null).flatMap(p => [p.mean - p.std, p.mean + p.std]);
    const [bandLow, bandHigh] = extent(isLog ? edges.filter(v => v > 0) : edges);
    // A spread that is cut looks smaller than it is. On a logarithmic axis it may reach down to nothing.
    const lowest = isLog ? low / 10 : -Infinity;
    const domain = [Math.min(low, Math.max(bandLow, lowest)), Math.max(high, bandHigh)];
    return padded(domain, isLog, 0.04);
  }

  draw() {
    this.lines = this.panel.series.filter(line => isVisible(line.series))
      .map(line => ({ ...line, points: this.pointsOf(line) }));
    const points = this.lines.flatMap(line => line.points.filter(p => p.mean !== null));
    if (!points.length) return this.drawEmpty();
    const [low, high] = extent(points.map(p => p.x));
    this.drawFrame({
      xDomain: low === high ? padded([low, high], false, 0) : [low, high],
      yDomain: this.yDomain(points),
      isLogY: this.panel.is_log,
      xLabel: data.x_labels[state.x],
    });
    this.lines.forEach(line => this.drawBand(line));
    this.lines.forEach(line => this.drawLine(line));
    this.stops = [...new Set(points.map(p => p.x))].sort((a, b) => a - b);
  }

  drawBand({ series, points }) {
    // On a log axis a lower edge at or below zero runs off the bottom of the plot.
    const edge = value => (this.panel.is_log && value <= 0 ? this.box.bottom + 9 : this.y.place(value));
    const at = (p, value) => `${this.x.place(p.x).toFixed(1)} ${edge(value).toFixed(1)}`;
    const d = runsOf(this.thinned(points), p => p.mean !== null && p.std !== null).map(run => {
      const upper = run.map(p => at(p, p.mean + p.std));
      const lower = run.map(p => at(p, p.mean - p.std)).reverse();
      return `M${[...upper, ...lower].join('L')}z`;
    }).join('');
    if (d) this.plot.append(svg('path', { class: 'band', style: colourOf(series), d }));
  }

  drawLine({ series, points }) {
    const at = p => `${this.x.place(p.x).toFixed(1)} ${this.y.place(p.mean).toFixed(1)}`;
    // "h0" lets the round cap paint a lone point as a dot.
    const d = runsOf(this.thinned(points), p => p.mean !== null).map(run => `M${run.map(at).join('L')}h0`).join('');
    this.plot.append(svg('path', {
      class: 'line', style: colourOf(series), 'stroke-dasharray': dashOf(series), 'data-series': series, d,
    }));
  }

  // More points than there are pixels are drawn as their extremes.
  thinned(points) {
    return keepExtremes(points, p => p.mean, Math.ceil(this.box.right - this.box.left));
  }

  nearestStop(pixel) {
    return nearest(this.stops, x => Math.abs(this.x.place(x) - pixel));
  }

  showStop(x) {
    const guide = this.x.place(x);
    this.overlay.append(svg('path', { class: 'guide', d: `M${guide} ${this.box.top}V${this.box.bottom}` }));
    const rows = [];
    for (const line of this.lines) {
      const recorded = line.points.filter(p => p.mean !== null);
      if (!recorded.length) continue;
      const point = recorded[nearest(recorded, p => Math.abs(p.x - x))];
      const d = markerPath(0, this.x.place(point.x), this.y.place(point.mean), 3.5);
      this.overlay.append(svg('path', { class: 'marker', style: colourOf(line.series), d }));
      rows.push({ line, point });
    }
    showTooltip(this.stage, { x: guide, y: this.box.top }, this.describe(x, rows));
  }

  describe(x, rows) {
    const label = data.x_labels[state.x];
    const isShared = rows.every(({ point }) => point.x === x);
    const body = rows.map(({ line, point }) => html('tr', {},
      html('td', {}, swatch(line.series)),
      html('th', {}, nameOf(line.series)),
      html('td', { class: 'number' }, formatSpread(point.mean, point.std)),
      html('td', { class: 'count' }, `(${point.n})`),
      ...(isShared ? [] : [html('td', { class: 'count' }, `at ${formatNumber(point.x)}`)])));
    const average = state.window > 1 ? [html('p', { class: 'count' }, `moving average, ${state.window} points`)] : [];
    return [html('p', {}, html('b', {}, formatNumber(x)), ` ${label}`), html('table', {}, ...body), ...average];
  }
}

class Scatter extends Chart {
  constructor(parent, scatter) {
    super(parent, `${scatter.metric} and ${scatter.gap}`, [kendall(scatter)]);
    this.scatter = scatter;
  }

  update(scatter) {
    this.scatter = scatter;
    this.setNotes([kendall(scatter)]);
    this.refresh();
  }

  draw() {
    const { metric, gap, is_log_x: isLogX, points } = this.scatter;
    const shown = points.filter(p => isVisible(p.series) && isNumber(p.x) && isNumber(p.y) && (!isLogX || p.x > 0));
    if (!shown.length) return this.drawEmpty();
    this.drawFrame({
      xDomain: padded(extent(shown.map(p => p.x)), isLogX, 0.05),
      yDomain: padded(extent(shown.map(p => p.y)), false, 0.07),
      isLogX,
      xLabel: metric + (isLogX ? ', log scale' : ''),
      yLabel: gap,
    });
    this.stops = shown.map(p => ({ ...p, left: this.x.place(p.x), top: this.y.place(p.y) }))
      .sort((a, b) => a.left - b.left);
    for (const { series, left, top } of this.stops) {
      const d = markerPath(series, left, top, 4.5);
      this.plot.append(svg('path', { class: 'dot', style: colourOf(series), 'data-series': series, d }));
    }
  }

  nearestStop(x, y) {
    const distance = stop => Math.hypot(stop.left - x, stop.top - y);
    const index = nearest(this.stops, distance);
    return index >= 0 && distance(this.stops[index]) < 32 ? index : -1;
  }

  showStop({ series, name, x, y, left, top }) {
    const { metric, gap } = this.scatter;
    const row = (label, value) =>
      html('tr', {}, html('th', {}, label), html('td', { class: 'number' }, formatNumber(value)));
    const d = markerPath(series, left, top, 6.5);
    this.overlay.append(svg('path', { class: 'marker', style: colourOf(series), d }));
    showTooltip(this.stage, { x: left, y: top }, [
      html('p', {}, swatch(series), html('b', {}, name)),
      html('table', {}, row(metric, x), row(gap, y)),
    ]);
  }
}

function kendall({ tau, p, n }) {
  if (!isNumber(tau)) return 'Kendall\u2019s tau: too few runs';
  const chance = isNumber(p) ? [p < 0.001 ? 'p < 0.001' : `p = ${p.toFixed(3)}`] : [];
  return [`Kendall\u2019s tau ${withMinus(tau.toFixed(2))}`, ...chance, `n = ${n}`].join(', ');
}
