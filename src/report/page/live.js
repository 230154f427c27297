
// The page of `batchplus watch`: what the server sends, and when to draw it.

let isDrawing = false;
let isReportAsked = false;
let reportAgain = null;

function drawSoon() {
  if (isDrawing) return;
  isDrawing = true;
  requestAnimationFrame(() => {
    isDrawing = false;
    drawFacts();
    drawAlerts();
    drawMatrix();
    drawList();
    if (live.open) drawDetail();
  });
}

function reportTarget() {
  if (live.ticked.size) return `api/report?runs=${[...live.ticked].join(',')}`;
  return live.sweep ? `api/report?sweep=${live.sweep}` : 'api/report';
}

// One at a time, and what came meanwhile by the next.
async function askReport() {
  if (live.hasEnded) return askLastReport();
  if (isReportAsked) { reportAgain ??= 0; return; }
  isReportAsked = true;
  reportAgain = null;
  const target = reportTarget();
  try {
    const reply = await fetch(target);
    const report = await reply.json();
    if (target === reportTarget() && !live.hasEnded) showReport(report, reply.ok);
    if (reply.headers.get('Batchplus-Fresh') === 'no') reportAgain = 1000;
  } catch { reportAgain = 3000; }
  setTimeout(() => { isReportAsked = false; if (reportAgain !== null) askReport(); }, Math.max(300, reportAgain ?? 0));
}

// Of what will not change any more.
async function askLastReport() {
  const target = reportTarget();
  try {
    const reply = await fetch(target);
    const report = await reply.json();
    if (target === reportTarget()) showReport(report, reply.ok);
  } catch { /* The server is gone: what is shown stays. */ }
}

function showReport(report, isGood) {
  const notes = document.getElementById('notes');
  if (!isGood) {
    notes.replaceChildren(...(live.runs.size ? [html('p', { class: 'notice' }, report.error)] : []));
    showContent({});
    showSection('tables', false);
    if (!live.ticked.size) { live.grid = null; drawSoon(); }
    return;
  }
  document.getElementById('title').textContent = report.title;
  document.title = report.title;
  // Both are HTML that the server made and escaped, and the page's policy runs no script from it.
  notes.innerHTML = report.notes;
  document.getElementById('results').innerHTML = report.tables;
  showSection('tables', Boolean(report.tables));
  for (const link of document.querySelectorAll('#results a')) link.replaceWith(...link.childNodes);
  showContent(report.data);
  if (!live.ticked.size) live.grid = report.grid;
  drawSoon();
}

function onSelection() {
  askReport();
}

// ---- which sweep ----

function chooseSweep(id) {
  live.sweep = id;
  live.grid = null;
  list.current = -1;
  document.getElementById('sweep').value = id;
  drawSoon();
  askReport();
}

function drawSweeps() {
  const hasLoose = [...live.runs.values()].some(run => !run.sweep);
  const options = live.sweeps.map(sweep => [sweep.id, `${sweep.title || sweep.path}${sweep.scale ? ` (${sweep.scale})` : ''}`]);
  if (hasLoose || !options.length) options.push(['', 'runs without a sweep']);
  const select = document.getElementById('sweep');
  const before = JSON.stringify([...select.options].map(option => [option.value, option.textContent]));
  if (before !== JSON.stringify(options)) {
    select.replaceChildren(...options.map(([value, text]) => html('option', { value }, text)));
    select.parentNode.hidden = options.length < 2;
  }
  if (live.sweep === null || !options.some(([value]) => value === live.sweep)) {
    const busy = [...live.runs.values()].find(run => run.status === 'running');
    const first = busy && options.some(([value]) => value === (busy.sweep ?? '')) ? busy.sweep ?? '' : options[0][0];
    chooseSweep(first);
  } else {
    select.value = live.sweep;
  }
}

async function askSweeps() {
  try {
    const reply = await fetch('api/sweeps');
    if (!reply.ok) return;
    live.sweeps = await reply.json();
  } catch { return; /* With the next connection. */ }
  live.areSweepsKnown = true;
  for (const sweep of live.sweeps.filter(one => one.problem)) console.warn(sweep.path, sweep.problem);
  drawSweeps();
  drawSoon();
}

// ---- events ----

function setLink(text, isGood) {
  const link = document.getElementById('link');
  link.textContent = text;
  link.className = isGood ? 'good' : 'bad';
}

function connect() {
  const events = new EventSource('api/events');
  events.addEventListener('open', () => setLink('live', true));
  events.addEventListener('hello', () => { live.runs.clear(); });
  events.addEventListener('runs', event => {
    for (const run of JSON.parse(event.data)) live.runs.set(run.id, run);
    drawSoon();
  });
  events.addEventListener('gone', event => {
    for (const id of JSON.parse(event.data)) { live.runs.delete(id); live.ticked.delete(id); }
    drawSoon();
  });
  events.addEventListener('sweeps', () => { askSweeps(); });
  events.addEventListener('seen', event => {
    live.seen = Number(event.data);
    if (live.areSweepsKnown) drawSweeps();
    askReport();
  });
  events.addEventListener('end', async () => {
    live.hasEnded = true;
    await askLastReport();
    events.close();
    setLink(`the sweep ended at ${clock(Date.now() / 1000)}; this is how it ended`, false);
  });
  events.addEventListener('error', () => {
    setLink(`no connection since ${clock(Date.now() / 1000)}; what you see is from then`, false);
    if (events.readyState === EventSource.CLOSED) setTimeout(connect, 3000);
  });
}

if ('live' in document.body.dataset) {
  const select = html('select', { id: 'sweep' });
  select.addEventListener('change', () => { live.ticked.clear(); chooseSweep(select.value); });
  const chooser = html('label', { class: 'chooser' }, 'sweep ', select);
  chooser.hidden = true;
  document.querySelector('header').append(chooser);
  for (const id of ['progress', 'figures', 'metrics', 'tables']) showSection(id, false);
  buildList();
  connect();
}
