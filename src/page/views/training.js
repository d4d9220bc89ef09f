'use strict';

const CURVES = [['loss', 'loss'], ['mape', 'MAPE of all targets'], ['mape_memory', 'MAPE of memory'],
  ['mape_latency', 'MAPE of latency'], ['mape_energy', 'MAPE of energy']];

/** Rows {line, x, y} of a field of both parts over the epochs. */
const curveRows = (epochs, field) => ['train', 'validation'].flatMap((part) => epochs
  .filter((epoch) => Number.isFinite(epoch[part]?.[field]))
  .map((epoch) => ({line: part, x: epoch.epoch, y: epoch[part][field]})));

/** `train`: curves over the epochs. */
function trainingView(data) {
  const epochs = data.epochs;
  const best = epochs.filter((epoch) => epoch.best).at(-1);
  const rates = epochs.map((epoch) => ({line: 'learning rate', x: epoch.epoch, y: epoch.learning_rate}));
  const marks = best ? [Plot.ruleX([best.epoch], {stroke: 'var(--soft)', strokeDasharray: '4 3'})] : [];
  const axes = {xLabel: 'epoch →', marks};
  return [
    element('p', {}, `${epochs.length} epochs`, best ? `, the best is epoch ${best.epoch} (dashed line)` : ''),
    element('div', {class: 'charts'},
      CURVES.map(([field, title]) => [title, curveRows(epochs, field)]).filter(([, rows]) => rows.length > 0)
        .map(([title, rows]) => lines(title, null, rows, {...axes, yLabel: title === 'loss' ? '↑ loss' : '↑ share'})),
      rates.length > 0 ? lines('learning rate', null, rates, {...axes, yLabel: '↑ rate'}) : null),
    details('All epochs as a table', table('Epochs', [
      {title: 'epoch', value: (row) => row.epoch},
      ...CURVES.flatMap(([field, title]) => ['train', 'validation'].map((part) => ({
        title: `${title}, ${part}`, value: (row) => row[part]?.[field] ?? null})))
    ], epochs)),
  ];
}

/** `train --find-rate`: the loss over the rate. */
function learningRateView(data) {
  const rows = data.steps.flatMap((step) => [{line: 'loss of a batch', x: step.rate, y: step.loss},
    {line: 'smoothed', x: step.rate, y: step.smoothed}]);
  return [
    element('p', {}, 'Suggested learning rate: ', element('b', {}, formatNumber(data.suggested)), ' (dashed line)'),
    lines('Loss over the learning rate', null, rows, {xLabel: 'learning rate →', yLabel: '↑ loss', logX: true,
      marks: [Plot.ruleX([data.suggested], {stroke: 'var(--ink)', strokeDasharray: '4 3'})]}),
  ];
}
