'use strict';

const QUANTITY_UNITS = {_ms: 'ms', _mib: 'MiB', _j: 'J', _w: 'W', _us: 'µs', _bytes: 'bytes', _s: 's'};

/** "latency_ms" → "latency (ms)". */
function quantityLabel(name) {
  const ending = Object.keys(QUANTITY_UNITS).find((one) => name.endsWith(one));
  if (!ending) return `${name === 'macs' ? 'MACs' : name.replaceAll('_', ' ')} →`;
  return `${name.slice(0, -ending.length).replaceAll('_', ' ')} (${QUANTITY_UNITS[ending]}) →`;
}

const histograms = (distributions) => element('div', {class: 'charts'}, distributions
  .filter((one) => one.count > 0 && one.histogram?.length)
  .map((one) => histogram(quantityLabel(one.name).replace(' →', ''), one, quantityLabel(one.name))));

function familyBars(families) {
  return figure('Points by family', null, (width) => Plot.plot({
    width, height: 50 + 18 * families.length, marginLeft: Math.min(160, width * 0.4), marginRight: 40, marginTop: 30,
    ariaLabel: 'Points by family', style: {fontSize: '12px', background: 'transparent', overflow: 'visible'},
    x: {label: 'points →', grid: true, tickFormat: '~s'}, y: {label: null, domain: families.map((one) => one.family)},
    marks: [
      Plot.barX(families, {x: 'points', y: 'family', fill: 'var(--c0)', tip: true,
        title: (one) => `${one.family}: ${one.points} points of ${one.models} networks, ${one.traced} traced, ${one.failed} failed`}),
      Plot.ruleX([0]),
    ],
  }));
}

function coverageTable(data) {
  if (data.coverage.length === 0) return note('There are no labels.');
  return table('Share of the points with a label', [
    {title: 'family', value: (row) => row.family}, {title: 'points', value: (row) => row.points},
    ...data.coverage.map((coverage) => ({title: `${coverage.device} / ${coverage.source} / ${coverage.provenance}`,
      value: (row) => formatPercent(coverage.family_shares[row.family] ?? null)})),
  ], data.families);
}

const scatterChart = ({title, labels}) => chart(title, 'A dot per label.', {
  x: axis('multiply-accumulates →', labels.map(([macs]) => macs)),
  y: axis(`↑ ${quantityLabel(title.split(' ')[0]).replace(' →', '')}`, labels.map(([, value]) => value)),
  marks: [Plot.dot(labels, {x: '0', y: '1', r: 2, fill: 'var(--c0)', fillOpacity: 0.5, tip: true,
    title: ([macs, value]) => `${formatCount(macs)} MACs\n${formatNumber(value)}`})],
});

/** `dataset stats`. */
function datasetView(data) {
  const counts = ['points', 'traced', 'failed', 'untraced', 'graphs', 'labels'];
  return [
    element('div', {class: 'cards'}, counts.map((name) =>
      element('div', {class: 'card'}, name, element('b', {}, data[name].toLocaleString('en'))))),
    section('Families', familyBars(data.families)),
    section('Graphs', histograms(data.graph_sizes)),
    section('Labels', coverageTable(data)),
    data.coverage.map((coverage) => section(`${coverage.device}, ${coverage.source} (${coverage.provenance})`,
      histograms(coverage.quantities))),
    data.scatters.length === 0 ? null : section('Cost against work',
      element('div', {class: 'charts'}, data.scatters.filter((one) => one.labels.length > 0).map(scatterChart))),
    section(`Outliers: ${data.num_outliers}`, note(`Outliers are ${data.outlier_rule}.`), data.outliers.length === 0 ? null : table('Outliers',
      columnsOf({point: 'point', device: 'device', source: 'source', quantity: 'quantity', value: 'value', expected: 'expected'}),
      data.outliers)),
  ];
}
