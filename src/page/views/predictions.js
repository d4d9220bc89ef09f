'use strict';

const FIGURES = [
  ['memory', 'MiB', (row) => row.memory.total_mib, (row) => row.memory.interval_mib],
  ['latency', 'ms', (row) => row.latency.ms, (row) => row.latency.interval_ms],
  ['energy', 'J', (row) => row.energy.j, (row) => row.energy.interval_j],
];

/** Bars with intervals, a row per answer. */
function figureBars(rows, [name, unit, value, interval]) {
  const label = (row) => `${row.index + 1}. ${row.model.split('/').at(-1).slice(0, 16)} ×${row.batch}`;
  return figure(`${name[0].toUpperCase()}${name.slice(1)}`, null, (width) => Plot.plot({
    width, height: 70 + 22 * rows.length, marginLeft: Math.min(180, width * 0.5), marginRight: 24, marginTop: 30, marginBottom: 40,
    ariaLabel: name, style: {fontSize: '12px', background: 'transparent', overflow: 'visible'},
    x: {label: `${unit} →`, grid: true}, y: {label: null, domain: rows.map(label)},
    marks: [
      Plot.barX(rows, {x: value, y: label, fill: 'var(--c0)', tip: true,
        title: (row) => `${row.model}, batch ${row.batch}\n${formatNumber(value(row))} ${unit}\n${formatInterval(interval(row), unit)}`}),
      Plot.link(rows, {x1: (row) => interval(row)[0], x2: (row) => interval(row)[1], y1: label, y2: label, stroke: 'var(--ink)'}),
      Plot.ruleX([0]),
    ],
  }));
}

/** Several answers beside each other. */
function predictionsView(data) {
  const rows = data.results.map((result, index) => ({...result, index}));
  const failed = data.errors.length === 0 ? null : section('Failed', element('ul', {class: 'warnings'},
    data.errors.map((error) => element('li', {}, error.message))));
  return [
    failed,
    rows.length === 0 ? null : element('div', {class: 'charts'},
      FIGURES.filter(() => rows.length <= 100).map((figureRow) => figureBars(rows, figureRow))),
    section('Answers', table('Answers', [
      {title: '#', value: (row) => row.index + 1},
      {title: 'model', value: (row) => row.model},
      {title: 'batch', value: (row) => row.batch},
      {title: 'device', value: (row) => row.device},
      {title: 'mode', value: (row) => row.mode},
      {title: 'memory MiB', value: (row) => row.memory.total_mib},
      {title: 'at most', value: (row) => row.memory.interval_mib[1]},
      {title: 'latency ms', value: (row) => row.latency.ms},
      {title: 'energy J', value: (row) => row.energy.j},
      {title: 'MIG profile', value: (row) => row.mig.profile ?? 'none'},
    ], rows)),
    warningsList([...new Set(rows.flatMap((row) => row.warnings))]),
  ];
}
