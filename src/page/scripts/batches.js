'use strict';
// Batch size against memory and latency, and what holds which batch.

/** Lines of what may be used, those that are nearly the same together. */
function limitsOf(places) {
  const limits = [];
  for (const place of d3.sort(places, (one) => one.usable_mib)) {
    const last = limits.at(-1);
    if (last && place.usable_mib < 1.15 * last.mib) last.name += `, ${place.profile}`;
    else limits.push({mib: place.usable_mib, name: place.profile});
  }
  return limits;
}

function memoryByBatch(points, device) {
  const places = [...device.mig.profiles, {profile: device.name, usable_mib: device.usable_mib}]
    .filter((place) => !place.media_extensions);
  const limits = limitsOf(places);
  const values = points.map((point) => point.memory.value);
  const shown = limits.filter((limit) => limit.mib > d3.min(values) / 2);
  return chart('Memory', 'Shaded: interval. Lines: usable memory of the device and its slices.', {
    x: axis('batch →', points.map((point) => point.batch)), y: axis('↑ MiB', values.concat(shown.map((limit) => limit.mib))),
    marks: [
      Plot.ruleY(shown, {y: 'mib', stroke: 'var(--soft)', strokeDasharray: '4 3'}),
      Plot.text(shown, {y: 'mib', text: 'name', frameAnchor: 'left', dx: 4, dy: -6, textAnchor: 'start', fill: 'var(--soft)'}),
      Plot.areaY(points, {x: 'batch', y1: (p) => p.memory.interval[0], y2: (p) => p.memory.interval[1], fill: 'var(--c0)', fillOpacity: 0.25}),
      Plot.lineY(points, {x: 'batch', y: (p) => p.memory.value, stroke: 'var(--c0)'}),
      Plot.dot(points, {x: 'batch', y: (p) => p.memory.value, fill: 'var(--c0)', tip: true,
        title: (p) => `batch ${p.batch}: ${formatInterval(p.memory.interval, 'MiB')}`}),
    ],
  });
}

function timeByBatch(points) {
  return chart('Latency', 'Shaded: interval.', {
    x: axis('batch →', points.map((point) => point.batch)), y: axis('↑ ms', points.map((point) => point.latency.value)),
    marks: [
      Plot.areaY(points, {x: 'batch', y1: (p) => p.latency.interval[0], y2: (p) => p.latency.interval[1], fill: 'var(--c1)', fillOpacity: 0.25}),
      Plot.lineY(points, {x: 'batch', y: (p) => p.latency.value, stroke: 'var(--c1)'}),
      Plot.dot(points, {x: 'batch', y: (p) => p.latency.value, fill: 'var(--c1)', tip: true,
        title: (p) => `batch ${p.batch}: ${formatInterval(p.latency.interval, 'ms')}\n` +
          `${formatNumber(1000 * p.batch / p.latency.value)} samples per second`}),
    ],
  });
}

function placesTable(points) {
  const places = points[0].places.map((place) => place.profile);
  return table('What fits where', [
    {title: 'batch', value: (point) => point.batch},
    {title: 'MiB', value: (point) => point.memory.value},
    {title: 'ms', value: (point) => point.latency.value},
    {title: 'J', value: (point) => point.energy.value},
    ...places.map((profile, i) => ({
      title: profile || 'without MIG',
      value: (point) => FIT_SIGN[fitStyle(point.places[i])],
      style: (point) => fitStyle(point.places[i]),
    })),
  ], points);
}

function batchesSection(batches, device) {
  const points = batches.points;
  if (points.length === 0) return null;
  return section('Batch size', element('div', {class: 'charts'}, memoryByBatch(points, device), timeByBatch(points)),
    element('h3', {}, 'What fits where'),
    note('✓ fits, ~ fits when cached segments are given back, ✗ does not fit.'), placesTable(points),
    batches.ended ? note(`Not at every batch: ${batches.ended}`) : null);
}
