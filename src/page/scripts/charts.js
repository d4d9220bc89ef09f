'use strict';
// Figures that are drawn anew when the page gets another width.

const PALETTE = Array.from({length: 10}, (_, i) => `var(--c${i})`);
const REST_COLOR = 'var(--c9)';

/** Colours of names: the first nine have their own, the rest share one. */
function colorsOf(names) {
  const colors = new Map(names.slice(0, 9).map((name, i) => [name, PALETTE[i]]));
  return (name) => colors.get(name) ?? REST_COLOR;
}

/** Names by what they weigh, the heaviest first. */
function heaviest(rows, name, weight) {
  const totals = d3.rollup(rows, (group) => d3.sum(group, weight), name);
  return [...totals].sort((a, b) => b[1] - a[1]).map(([key]) => key);
}

/** A <figure>; draw(width) makes its picture, which other attributes of the
 *  figure may call for again by figure.redraw(). */
function figure(title, remark, draw) {
  const place = element('div');
  const node = element('figure', {}, element('figcaption', {}, title,
    remark ? element('small', {}, remark) : null), place);
  let width = 0;
  node.redraw = () => {
    if (width > 0) place.replaceChildren(draw(width));
  };
  new ResizeObserver(([entry]) => {
    const found = Math.floor(entry.contentRect.width);
    if (found === width) return;
    width = found;
    node.redraw();
  }).observe(place);
  return node;
}

/** A figure of Observable Plot: options are Plot's, beside width and style. */
function chart(title, remark, options) {
  return figure(title, remark, (width) => Plot.plot({
    width, height: Math.max(220, Math.min(380, width * 0.55)), marginLeft: 58, marginBottom: 40,
    marginRight: 20, marginTop: 26, ariaLabel: title,
    style: {fontSize: '12px', background: 'transparent', overflow: 'visible'},
    ...(typeof options === 'function' ? options(width) : options),
  }));
}

const tickText = (value) => Math.abs(value) >= 1e4 ? d3.format('~s')(value) : String(Number(value.toPrecision(3)));

/** Numbers at the ticks of a logarithm: of many powers only those of ten. */
function logTicks(values) {
  const powers = Math.log10(d3.max(values) / d3.min(values));
  const digits = powers > 3 ? '1' : powers > 1 ? '125' : '123456789';
  return (value) => digits.includes(value.toExponential()[0]) ? tickText(value) : '';
}

/** An axis for values: of a logarithm where they are wide apart and above 0, or where `log` says so. */
function axis(label, values, log = d3.min(values) > 0 && d3.max(values) / d3.min(values) > 5) {
  return {label, grid: true, nice: true, type: log ? 'log' : 'linear',
    tickFormat: log ? logTicks(values) : tickText};
}

/** A histogram whose bins are known: equal steps of the logarithm. */
function histogram(title, distribution, label) {
  const {min, max, histogram: counts} = distribution;
  const step = counts.length ? (max / min) ** (1 / counts.length) : 1;
  const bins = counts.map((count, i) => ({count, from: min * step ** i, to: min * step ** (i + 1)}));
  if (min === max) bins.splice(0, bins.length, {count: distribution.count, from: min * 0.95, to: min * 1.05});
  const remark = `${distribution.count} values, median ${formatNumber(distribution.median)}, ` +
    `90 % within ${formatNumber(distribution.p5)} – ${formatNumber(distribution.p95)}`;
  return chart(title, remark, {
    x: axis(label, bins.flatMap((bin) => [bin.from, bin.to])),
    y: {label: '↑ values', grid: true, tickFormat: '~s'},
    marks: [
      Plot.rectY(bins, {x1: 'from', x2: 'to', y: 'count', fill: 'var(--c0)', insetLeft: 0.5,
        title: (bin) => `${formatNumber(bin.from)} – ${formatNumber(bin.to)}: ${bin.count}`, tip: true}),
      Plot.ruleY([0]),
      Plot.ruleX([distribution.median], {stroke: 'var(--c3)', strokeDasharray: '4 3'}),
    ],
  });
}

/** Lines over a shared x: rows are {line, x, y}. */
function lines(title, remark, rows, {xLabel, yLabel, logX = false, logY = true, marks = []}) {
  const names = [...new Set(rows.map((row) => row.line))];
  const color = colorsOf(names);
  const drawn = rows.filter((row) => Number.isFinite(row.y) && (!logY || row.y > 0));
  const node = chart(title, remark, {
    x: {...axis(xLabel, drawn.map((row) => row.x), logX), nice: false},
    y: axis(yLabel, drawn.map((row) => row.y), logY),
    marks: [
      ...marks,
      Plot.lineY(drawn, {x: 'x', y: 'y', z: 'line', stroke: (row) => color(row.line)}),
      Plot.dot(drawn, {x: 'x', y: 'y', r: drawn.length > 200 ? 0 : 2, fill: (row) => color(row.line),
        title: (row) => `${row.line}\n${xLabel}: ${formatNumber(row.x)}\n${formatNumber(row.y)}`,
        tip: 'x'}),
    ],
  });
  node.append(legend(names.map((name) => [name, color(name)])));
  return node;
}
