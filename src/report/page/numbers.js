// Numbers of the report page: formatting, ticks, scales, smoothing. Knows nothing of the page.
'use strict';

const isNumber = value => typeof value === 'number' && Number.isFinite(value);
const withMinus = text => text.replace(/-/g, '\u2212');
const superscript = integer =>
  String(integer).replace(/./g, c => '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'['-0123456789'.indexOf(c)]);

function formatNumber(value, digits = 4) {
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e9)) {
    const [mantissa, exponent] = value.toExponential(digits - 1).split('e');
    return withMinus(`${Number(mantissa)}×10`) + superscript(Number(exponent));
  }
  if (size >= 1000) return withMinus(Math.round(value).toLocaleString('en-US'));
  return withMinus(String(Number(value.toPrecision(digits))));
}

const formatSpread = (mean, std) =>
  formatNumber(mean) + (std === null ? '' : ` ± ${formatNumber(std, 2)}`);

function niceStep(roughStep) {
  const decade = 10 ** Math.floor(Math.log10(roughStep));
  return decade * [1, 2, 5, 10].find(factor => factor * decade >= roughStep * 0.999);
}

function linearTicks([low, high], count) {
  const step = niceStep((high - low) / count);
  const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const label = value => {
    if (step >= 1e5 && high >= 1e6) return withMinus(`${Number((value / 1e6).toPrecision(4))}M`);
    return step < 1e-6 || step >= 1 ? formatNumber(value) : withMinus(value.toFixed(decimals));
  };
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k++) {
    ticks.push({ value: k * step, label: k === 0 ? '0' : label(k * step) });
  }
  return ticks;
}

function logTicks([low, high], count) {
  const decades = Math.log10(high / low);
  // Less than a decade holds too few powers and 1-2-5 multiples to read from.
  if (decades < 0.8) return linearTicks([low, high], count);
  const factors = 3 * decades <= 1.6 * count ? [1, 2, 5] : [1];
  const stride = Math.max(1, Math.ceil(decades / count));
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    if (power % stride !== 0) continue;
    for (const factor of factors) {
      const value = factor * 10 ** power;
      if (value < low * 0.999 || value > high * 1.001) continue;
      const isShort = factor > 1 || (power > -4 && power < 5);
      ticks.push({ value, label: isShort ? formatNumber(value) : `10${superscript(power)}` });
    }
  }
  return ticks;
}

function makeScale(domain, range, isLog, tickCount) {
  const warp = isLog ? Math.log10 : value => value;
  const [low, high] = domain.map(warp);
  const slope = (range[1] - range[0]) / (high - low);
  return {
    place: value => range[0] + (warp(value) - low) * slope,
    ticks: (isLog ? logTicks : linearTicks)(domain, tickCount),
  };
}

function padded([low, high], isLog, share) {
  if (isLog) {
    const factor = low === high ? 2 : (high / low) ** share;
    return [low / factor, high * factor];
  }
  const pad = low === high ? Math.abs(low) * 0.1 || 1 : (high - low) * share;
  return [low >= 0 ? Math.max(0, low - pad) : low - pad, high + pad];
}

const extent = values =>
  values.reduce(([low, high], v) => [Math.min(low, v), Math.max(high, v)], [Infinity, -Infinity]);

// Centred moving average; near an end the window shrinks on both sides alike,
// so the first and last recorded values stay as they are.
function movingAverage(values, window) {
  const places = values.flatMap((value, i) => (isNumber(value) ? [i] : []));
  const result = values.map(() => null);
  places.forEach((place, i) => {
    const half = Math.min(Math.floor((window - 1) / 2), i, places.length - 1 - i);
    const near = places.slice(i - half, i + half + 1);
    result[place] = near.reduce((sum, p) => sum + values[p], 0) / near.length;
  });
  return result;
}

// Maximal stretches of neighbouring usable points.
function runsOf(points, isUsable) {
  const runs = [];
  let run = null;
  for (const point of points) {
    if (!isUsable(point)) run = null;
    else if (run) run.push(point);
    else runs.push(run = [point]);
  }
  return runs;
}

function nearest(items, distance) {
  let best = -1;
  let least = Infinity;
  items.forEach((item, i) => {
    const d = distance(item);
    if (d < least) [best, least] = [i, d];
  });
  return best;
}

// Of many items at most four for each of so many columns: the first, the lowest, the highest and the last, in their order.
// What has no value stays as the gap that it is.
function keepExtremes(items, valueOf, columns) {
  if (items.length <= 4 * columns) return items;
  const kept = [];
  for (let column = 0; column < columns; column++) {
    const from = Math.floor((column * items.length) / columns);
    const to = Math.floor(((column + 1) * items.length) / columns);
    const places = new Set([from, to - 1]);
    let [low, high, gap] = [-1, -1, -1];
    for (let i = from; i < to; i++) {
      const value = valueOf(items[i]);
      if (!isNumber(value)) gap = i;
      else {
        if (low < 0 || value < valueOf(items[low])) low = i;
        if (high < 0 || value > valueOf(items[high])) high = i;
      }
    }
    for (const place of [low, high, gap]) if (place >= 0) places.add(place);
    kept.push(...[...places].sort((a, b) => a - b).map(i => items[i]));
  }
  return kept;
}
