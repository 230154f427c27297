// Appended to the page as a last script: exercises it and writes what it found as JSON into a pre element with id "check".
'use strict';
(() => {
  const one = selector => document.querySelector(selector);
  const all = selector => [...document.querySelectorAll(selector)];
  const tooltip = one('.tooltip');

  function pointer(type, target, x, y, pointerType = 'mouse') {
    target.dispatchEvent(new PointerEvent(type, { bubbles: true, clientX: x, clientY: y, pointerType }));
  }

  function hover(stage, share = 0.5) {
    const box = stage.getBoundingClientRect();
    pointer('pointermove', stage, box.left + box.width * share, box.top + box.height / 2);
  }

  function choose(id, value) {
    const select = document.getElementById(id);
    select.value = value;
    select.dispatchEvent(new Event('change', { bubbles: true }));
  }

  const axisLabel = () => one('#charts .axis-label').textContent;
  const linesOf = series => all(`#charts .line[data-series="${series}"]`).length;
  const found = { panels: all('#charts .panel').length, scatters: all('#scatter .panel').length };

  const stage = one('#charts .stage');
  hover(stage);
  found.tooltipShown = !tooltip.hidden;
  found.tooltipText = tooltip.innerText.replace(/\s+/g, ' ').trim();
  found.guideShown = Boolean(stage.querySelector('.guide'));
  pointer('pointerleave', stage, 0, 0);
  found.tooltipGone = tooltip.hidden;
  pointer('pointerdown', stage, stage.getBoundingClientRect().left + 120, 0, 'touch');
  pointer('pointerleave', stage, 0, 0, 'touch');
  found.touchStays = !tooltip.hidden;
  pointer('pointerdown', document.body, 0, 0, 'touch');
  found.touchElsewhereCloses = tooltip.hidden;

  stage.focus();
  stage.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true }));
  const first = tooltip.innerText;
  stage.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true }));
  found.arrowsMove = !tooltip.hidden && tooltip.innerText !== first;
  stage.blur();

  const button = one('.toolbar .legend button');
  const linesBefore = linesOf(0);
  button.click();
  found.seriesHidden = linesBefore > 0 && linesOf(0) === 0 && all('#scatter [data-series="0"].dot').length === 0;
  found.legendPressed = button.getAttribute('aria-pressed');
  found.otherLegendFollows = all('.legend [data-series="0"]').every(b => b.getAttribute('aria-pressed') === 'false');
  button.click();
  found.seriesBack = linesOf(0) === linesBefore;
  button.dispatchEvent(new MouseEvent('dblclick', { bubbles: true }));
  found.isolated = linesOf(0) === linesBefore && linesOf(1) === 0;
  button.dispatchEvent(new MouseEvent('dblclick', { bubbles: true }));

  found.xAxisLabelBefore = axisLabel();
  choose('x-axis', 'evaluations');
  found.xAxisLabel = axisLabel();
  hover(one('#charts .stage'));
  found.tooltipOnEvaluations = tooltip.innerText.replace(/\s+/g, ' ').trim();
  pointer('pointerleave', one('#charts .stage'), 0, 0);

  const pathOf = () => one('#charts .line').getAttribute('d');
  const smoothed = pathOf();
  choose('smoothing', '1');
  found.smoothingChanges = pathOf() !== smoothed;

  const dot = one('#scatter .dot');
  const box = dot.getBoundingClientRect();
  pointer('pointermove', one('#scatter .stage'), box.left + box.width / 2, box.top + box.height / 2);
  found.scatterTooltip = tooltip.hidden ? '' : tooltip.innerText.replace(/\s+/g, ' ').trim();
  pointer('pointerleave', one('#scatter .stage'), 0, 0);

  const link = one('.results a[href^="#cell-"]');
  link.click();
  found.runOpen = document.getElementById(link.hash.slice(1)).open;
  found.noSidewaysScroll = document.documentElement.scrollWidth <= document.documentElement.clientWidth;

  const pre = document.createElement('pre');
  pre.id = 'check';
  pre.textContent = JSON.stringify(found, null, 2);
  document.body.append(pre);
})();
