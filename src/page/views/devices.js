'use strict';

/** What a row is of: a device, or a runtime on it. */
function placeOf(row) {
  return row.runtime ? `${row.device}, ${row.runtime}` : row.device;
}

/** Bars in the order of the answer; the tip says `text`. */
function deviceBars(title, unit, rows, value, text, ...marks) {
  return figure(title, null, (width) => Plot.plot({
    width, height: 70 + 22 * rows.length, marginLeft: Math.min(rows.some((row) => row.runtime) ? 250 : 150, width * 0.45), marginRight: 24, marginTop: 30, marginBottom: 40,
    ariaLabel: title, style: {fontSize: '12px', background: 'transparent', overflow: 'visible'},
    x: {label: `${unit} →`, grid: true, tickFormat: tickText}, y: {label: null, domain: rows.map(placeOf)},
    marks: [
      Plot.barX(rows, {x: value, y: placeOf, fill: (row) => row.fits ? 'var(--c0)' : 'var(--bad)', tip: true,
        title: (row) => `${placeOf(row)}\n${text(row)}`}),
      ...marks, Plot.ruleX([0]),
    ],
  }));
}

function deviceCharts(rows) {
  const priced = rows.filter((row) => (row.usd_per_thousand_batches ?? null) !== null);
  return element('div', {class: 'charts'},
    deviceBars('Memory', '% of what may be used, at most', rows, (row) => 100 * row.needed_mib / row.usable_mib,
      (row) => `${formatNumber(row.needed_mib)} of ${formatNumber(row.usable_mib)} MiB`,
      Plot.ruleX([100], {stroke: 'var(--ink)', strokeDasharray: '4 3'})),
    deviceBars('Latency', 'ms', rows, 'latency_ms', (row) => `${formatNumber(row.latency_ms)} ms`),
    deviceBars('Energy', 'J', rows, 'energy_j', (row) => `${formatNumber(row.energy_j)} J`),
    priced.length === 0 ? null : deviceBars('Price', 'USD per 1000 batches', priced, 'usd_per_thousand_batches',
      (row) => `${formatNumber(row.usd_per_thousand_batches)} USD per 1000 batches, ${formatNumber(row.usd_per_hour)} USD/h`));
}

/** `compare`: one step on many devices, the best first, or in many runtimes. */
function devicesView(data) {
  return data.results.flatMap((result) => {
    const rows = result.runtimes ?? result.devices;
    const title = result.runtimes ? 'Runtimes' : 'Devices';
    const own = result.runtimes ?
      [{title: "times eager's speed", value: (row) => row.speed_up}] :
      [{title: 'USD/h', value: (row) => row.usd_per_hour},
        {title: 'USD per 1000 batches', value: (row) => row.usd_per_thousand_batches}];
    return [
      element('p', {}, element('b', {}, result.model), `, batch ${result.batch}`),
      rows.length === 0 ? null : deviceCharts(rows),
      section(title, table(title, [
        {title: '#', value: (row) => rows.indexOf(row) + 1},
        {title: result.runtimes ? 'device and runtime' : 'device', value: placeOf},
        {title: 'MiB at most', value: (row) => row.needed_mib},
        {title: 'usable', value: (row) => row.usable_mib},
        {title: 'fits', value: (row) => row.fits ? '✓' : '✗', style: (row) => row.fits ? 'good' : 'bad'},
        {title: 'ms', value: (row) => row.latency_ms},
        {title: 'J', value: (row) => row.energy_j},
        ...own,
      ], rows)),
      result.untried.length === 0 ? null :
        section('Not simulated', element('ul', {}, result.untried.map((one) => element('li', {}, one)))),
    ];
  });
}
