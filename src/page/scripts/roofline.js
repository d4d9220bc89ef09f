'use strict';
// Every kernel between the roofs of the device.

const GIGA = 1e9;
const BYTES_PER_MIB = 1024 * 1024;

function kernelRows(kernels) {
  return rowsOf(kernels.shown).filter((row) => row.operations > 0 && row.mib > 0 && row.us > 0)
    .map((row) => ({...row, intensity: row.operations / (row.mib * BYTES_PER_MIB),
      gflops: row.operations / row.us / 1e3, total_us: row.us * row.count}));
}

/** Lines of the device: bandwidth up to each peak that a kernel could use. */
function roofsOf(device, rows) {
  const used = new Set(rows.map((row) => row.arithmetic ?? 'fp32'));
  const peaks = Object.entries(device.peak_tflops).filter(([name]) => used.has(name));
  const [low, high] = d3.extent(rows, (row) => row.intensity);
  return peaks.map(([name, tflops]) => {
    const peak = tflops * 1e3;
    const knee = peak / device.bandwidth_gb_s;
    const from = Math.min(low, knee / 10);
    const to = Math.max(high * 2, knee * 10);
    return {name, peak, points: [[from, from * device.bandwidth_gb_s], [knee, peak], [to, peak]]
      .map(([x, y]) => ({x, y, name}))};
  });
}

function rooflineSection(kernels, device) {
  const rows = kernelRows(kernels);
  if (rows.length === 0) return null;
  const names = heaviest(rows, (row) => row.kernel, (row) => row.total_us);
  const color = colorsOf(names);
  const roofs = roofsOf(device, rows);
  const total = sum(rows.map((row) => row.total_us)) + kernels.rest.us;
  const picture = chart('Roofline',
    'A dot per kernel, its area the time that it takes in the step. A kernel without products is taken to compute one operation per element of its result.',
    {
      x: {...axis('operations per byte of device memory →', rows.map((row) => row.intensity), true), nice: false},
      y: axis('↑ 10⁹ operations per second', rows.map((row) => row.gflops), true),
      r: {range: [2, 18], type: 'sqrt'},
      marks: [
        roofs.map((roof) => Plot.lineY(roof.points, {x: 'x', y: 'y', stroke: 'var(--soft)'})),
        Plot.text(roofs.map((roof) => roof.points.at(-1)), {x: 'x', y: 'y', dy: -7, textAnchor: 'end',
          text: 'name', fill: 'var(--soft)'}),
        Plot.dot(rows, {x: 'intensity', y: 'gflops', r: 'total_us', fill: (row) => color(row.kernel),
          fillOpacity: 0.65, stroke: 'var(--paper)', strokeWidth: 0.5, tip: true,
          title: (row) => `${row.kernel} (${row.operator})\n${row.module || NO_MODULE}\n` +
            `${row.count} × ${formatNumber(row.us)} µs, ${formatPercent(row.total_us / total)} of GPU time\n` +
            `${formatNumber(row.gflops)}e9 op/s, ${formatNumber(row.intensity)} op/byte`}),
      ],
    });
  picture.append(legend(names.slice(0, 9).map((name) => [name, color(name)])
    .concat(names.length > 9 ? [['other kernels', REST_COLOR]] : [])));
  const left = kernels.rest.kernels;
  return section('Kernels', picture,
    left > 0 ? note(`${left} kernels that take ${formatNumber(kernels.rest.us)} µs in all are not shown.`) : null,
    details('All kernels shown as a table', table('Kernels', [
      {title: 'kernel', value: (row) => row.kernel},
      {title: 'operator', value: (row) => row.operator},
      {title: 'first module', value: (row) => row.module || NO_MODULE},
      {title: 'arithmetic', value: (row) => row.arithmetic ?? '–'},
      {title: 'launches', value: (row) => row.count},
      {title: 'op/byte', value: (row) => row.intensity},
      {title: '10⁹ op/s', value: (row) => row.gflops},
      {title: 'µs each', value: (row) => row.us},
      {title: 'µs in all', value: (row) => row.total_us},
    ], rows)));
}
