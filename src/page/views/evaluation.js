'use strict';

const TARGET_UNITS = {memory: 'MiB', latency: 'ms', energy: 'J'};

function predictedChart(target, rows, all) {
  const unit = TARGET_UNITS[target];
  const families = heaviest(rows, (row) => row.family, () => 1);
  const color = colorsOf(families);
  const ends = d3.extent(rows.flatMap((row) => [row.label, row.prediction]));
  const drawn = rows.length < all ? ` ${rows.length} of ${all} labels are drawn.` : '';
  const node = chart(`${target}: prediction against label`, `On the line both are the same.${drawn}`, {
    x: {...axis(`label (${unit}) →`, ends), nice: false},
    y: {...axis(`↑ prediction (${unit})`, ends), nice: false},
    marks: [
      Plot.line([[ends[0], ends[0]], [ends[1], ends[1]]], {stroke: 'var(--soft)'}),
      Plot.dot(rows, {x: 'label', y: 'prediction', r: 2.5, fill: (row) => color(row.family), fillOpacity: 0.7, tip: true,
        title: (row) => `${row.model}, batch ${row.batch}\nlabel ${formatNumber(row.label)} ${unit}\n` +
          `prediction ${formatNumber(row.prediction)} ${unit} (${formatPercent(row.prediction / row.label - 1)})`}),
    ],
  });
  node.append(legend(families.slice(0, 9).map((name) => [name, color(name)])
    .concat(families.length > 9 ? [['other families', REST_COLOR]] : [])));
  return node;
}

/** The errors of all labels, as shares; dots are thinned out, these are not. */
function errorChart(target, shares) {
  const errors = shares.map((share) => 100 * share);
  const clipped = errors.map((error) => Math.max(-100, Math.min(100, error)));
  const most = Math.max(1, ...clipped.map(Math.abs));
  return chart(`${target}: error`, `${errors.length} labels, median ${formatNumber(d3.median(errors))} %; beyond ±100 % counts to the ends`, {
    x: {label: 'prediction above the label (%) →', grid: true, domain: [-most, most]}, y: {label: '↑ labels', grid: true},
    marks: [
      Plot.rectY(clipped, Plot.binX({y: 'count'}, {x: (error) => error, domain: [-most, most], thresholds: 30, fill: 'var(--c0)', tip: true})),
      Plot.ruleX([0]), Plot.ruleY([0]),
    ],
  });
}

const ACCURACY_COLUMNS = [
  {title: 'target', value: (row) => row.target}, {title: 'n', value: (row) => row.count},
  {title: 'MAPE', value: (row) => formatPercent(row.mape)},
  {title: 'median APE', value: (row) => formatPercent(row.median_ape)},
  {title: 'R²', value: (row) => row.r2}, {title: 'R² (log)', value: (row) => row.r2_log},
  {title: 'Spearman', value: (row) => row.spearman},
  {title: 'underestimated', value: (row) => formatPercent(row.underestimated)},
  {title: 'in interval', value: (row) => formatPercent(row.coverage)},
];

/** `evaluate`: predictions beside labels. */
function evaluationView(data) {
  const {evaluation} = data;
  const byTarget = d3.groups(data.predictions, (row) => row.target);
  const families = evaluation.families.flatMap((family) => family.targets.map((row) => ({...row, family: family.family})));
  return [
    note(`${evaluation.method}; ${evaluation.dataset} (${evaluation.selection}); ${evaluation.samples} samples of ` +
      `${evaluation.devices.join(', ')}`),
    section('Accuracy', table('Accuracy', ACCURACY_COLUMNS, evaluation.targets)),
    byTarget.map(([target, rows]) => section(target[0].toUpperCase() + target.slice(1),
      element('div', {class: 'charts'}, predictedChart(target, rows, data.errors[target].length), errorChart(target, data.errors[target])))),
    evaluation.fits.length === 0 ? null : section('Does it fit?', table('Does it fit', [
      {title: 'profile', value: (row) => row.profile || 'without MIG'}, {title: 'usable MiB', value: (row) => row.usable_mib},
      {title: 'truly', value: (row) => row.fits}, {title: 'predicted', value: (row) => row.predicted},
      {title: 'recall', value: (row) => formatPercent(row.recall)}, {title: 'precision', value: (row) => formatPercent(row.precision)},
    ], evaluation.fits)),
    section('Families', table('Families', [{title: 'family', value: (row) => row.family}, ...ACCURACY_COLUMNS], families)),
  ];
}
