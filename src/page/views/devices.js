'use strict';

/** Bars with a row per device, in the order of the answer; the tip says `text`. */
function deviceBars(title, unit, rows, value, text, ...marks) {
  return figure(title, null, (width) => Plot.plot({
    width, height: 70 + 22 * rows.length, marginLeft: Math.min(150, width * 0.45), marginRight: 24, marginTop: 30, marginBottom: 40,
    ariaLabel: title, style: {fontSize: '12px', background: 'transparent', overflow: 'visible'},
    x: {label: `${unit} →`, grid: true, tickFormat: tickText}, y: {label: null, domain: rows.map((row) => row.device)},
    marks: [
      Plot.barX(rows, {x: value, y: 'device', fill: (row) => row.fits ? 'var(--c0)' : 'var(--bad)', tip: true,
        title: (row) => `${row.device}\n${text(row)}`}),
      ...marks, Plot.ruleX([0]),
    ],
  }));
}

function deviceCharts(rows) {
  const priced = rows.filter((row) => row.usd_per_thousand_batches !== null);
  return element('div', {class: 'charts'},
    deviceBars('Memory', '% of what may be used, at most', rows, (row) => 100 * row.needed_mib / row.usable_mib,
      (row) => `${formatNumber(row.needed_mib)} of ${formatNumber(row.usable_mib)} MiB`,
      Plot.ruleX([100], {stroke: 'var(--ink)', strokeDasharray: '4 3'})),
    deviceBars('Latency', 'ms', rows, 'latency_ms', (row) => `${formatNumber(row.latency_ms)} ms`),
    deviceBars('Energy', 'J', rows, 'energy_j', (row) => `${formatNumber(row.energy_j)} J`),
    priced.length === 0 ? null : deviceBars('Price', 'USD per 1000 batches', priced, 'usd_per_thousand_batches',
      (row) => `${formatNumber(row.usd_per_thousand_batches)} USD per 1000 batches, ${formatNumber(row.usd_per_hour)} USD/h`));
}

/** `compare`: one step on many devices, the best first. */
function devicesView(data) {
  return data.results.flatMap((result) => [
    element('p', {}, element('b', {}, result.model), `, batch ${result.batch}`),
    result.devices.length === 0 ? null : deviceCharts(result.devices),
    section('Devices', table('Devices', [
      {title: '#', value: (row) => result.devices.indexOf(row) + 1},
      {title: 'device', value: (row) => row.device},
      {title: 'MiB at most', value: (row) => row.needed_mib},
      {title: 'usable', value: (row) => row.usable_mib},
      {title: 'fits', value: (row) => row.fits ? '✓' : '✗', style: (row) => row.fits ? 'good' : 'bad'},
      {title: 'ms', value: (row) => row.latency_ms},
      {title: 'J', value: (row) => row.energy_j},
      {title: 'USD/h', value: (row) => row.usd_per_hour},
      {title: 'USD per 1000 batches', value: (row) => row.usd_per_thousand_batches},
    ], result.devices)),
    result.untried.length === 0 ? null :
      section('Not simulated', element('ul', {}, result.untried.map((one) => element('li', {}, one)))),
  ]);
}
