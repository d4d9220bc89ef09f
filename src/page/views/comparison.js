'use strict';

const PARTS = ['train', 'validation', 'test'];

/** Rows {network, part, field, mean, deviation} in percent. */
const errorRows = (networks) => networks.flatMap((network) => PARTS.flatMap((part) =>
  Object.entries(network[part]).filter(([, spread]) => spread.mean !== null).map(([field, spread]) => ({
    network: network.network, part, field, mean: 100 * spread.mean, deviation: 100 * (spread.deviation ?? 0)}))));

function comparisonChart(field, rows, networks) {
  return chart(field === 'pooled' ? 'All targets' : field, 'Mean over the seeds and its deviation.', {
    x: {label: 'network', domain: networks}, y: {label: '↑ MAPE (%)', grid: true},
    color: {domain: PARTS, range: PALETTE.slice(0, 3)},
    marks: [
      Plot.ruleX(rows, {x: 'network', y1: (row) => Math.max(0, row.mean - row.deviation), y2: (row) => row.mean + row.deviation, stroke: 'var(--soft)',
        dx: 0}),
      Plot.dot(rows, {x: 'network', y: 'mean', fill: 'part', r: 5, tip: true,
        title: (row) => `${row.network}, ${row.part}\n${formatNumber(row.mean)} % ± ${formatNumber(row.deviation)}`}),
      Plot.ruleY([0]),
    ],
  });
}

/** `compare-networks`: networks trained on one split. */
function comparisonView(data) {
  const networks = data.networks.map((network) => network.network);
  const rows = errorRows(data.networks);
  return [
    legend(PARTS.map((part, i) => [part, PALETTE[i]])),
    element('div', {class: 'charts'}, d3.groups(rows, (row) => row.field)
      .map(([field, group]) => comparisonChart(field, group, networks))),
    section('Errors', table('Errors', [
      {title: 'network', value: (row) => row.network}, {title: 'part', value: (row) => row.part},
      {title: 'target', value: (row) => row.field}, {title: 'MAPE %', value: (row) => row.mean},
      {title: '± %', value: (row) => row.deviation},
    ], rows)),
  ];
}
