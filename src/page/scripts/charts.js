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

/** Axis of a logarithm where all values allow it. */
const axis = (label, values, more = {}) => ({
  label, grid: true, nice: true,
  type: values.length && values.every((value) => value > 0) &&
    d3.max(values) / d3.min(values) > 20 ? 'log' : 'linear',
  tickFormat: values.length && Math.max(...values.map(Math.abs)) >= 1e4 ? '~s' : undefined,
  ...more,
});

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
    x: {label: xLabel, type: logX ? 'log' : 'linear', grid: true},
    y: {label: yLabel, type: logY ? 'log' : 'linear', grid: true, nice: true},
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
