'use strict';
// The three figures with intervals, and where they come from.

function rangeBar(value, [low, high]) {
  const end = Math.max(high * 1.1, value) || 1;
  const share = (number) => `${100 * number / end}%`;
  return element('div', {class: 'range', role: 'img', 'aria-label': 'interval'},
    element('i', {style: `left:${share(low)};width:${share(high - low)}`}),
    element('u', {style: `left:${share(value)}`}));
}

function sourceText(source) {
  const learned = source.trained_on.length ? `, learned on ${source.trained_on.join(', ')}` : '';
  const distance = source.distance === null ? '' :
    `, distance ${formatNumber(source.distance)} from those learned from` +
    (source.far_distance === null ? '' : ` (far: above ${formatNumber(source.far_distance)})`);
  return source.method + learned + distance;
}

const figureCard = (name, value, interval, unit, source, ...more) => element('div', {class: 'card'},
  name, element('b', {}, `${formatNumber(value)} ${unit}`), rangeBar(value, interval),
  element('span', {}, formatInterval(interval, unit)), note(sourceText(source)), more);

const MEMORY_PARTS = [
  ['context_mib', 'CUDA context'], ['parameters_mib', 'parameters'], ['buffers_mib', 'buffers'],
  ['inputs_mib', 'inputs'], ['activations_mib', 'activations'], ['gradients_mib', 'gradients'],
  ['optimizer_mib', 'optimizer state'], ['temporaries_mib', 'temporaries'],
  ['workspace_at_peak_mib', 'workspaces'], ['rounding_mib', 'rounding'], ['cache', 'cache'],
];

/** What the memory of the process consists of at the peak; cache is what the
 *  allocator holds beside that. */
function memoryParts(memory) {
  const all = {...memory, cache: Math.max(0, memory.reserved_mib - memory.allocated_mib)};
  const colors = [REST_COLOR, ...PALETTE.slice(0, 9), 'var(--line)'];
  const parts = MEMORY_PARTS.map(([field, name], i) => ({name, mib: all[field], color: colors[i]}))
    .filter((part) => part.mib > 0);
  const total = sum(parts.map((part) => part.mib));
  return [
    element('h3', {}, 'What the memory is made of at the peak'),
    element('div', {class: 'parts', role: 'img', 'aria-label': 'parts of the memory'}, parts.map((part) =>
      element('span', {style: `flex:${part.mib / total};background:${part.color}`,
        title: `${part.name}: ${formatNumber(part.mib)} MiB`}))),
    legend(parts.map((part) => [part.name, part.color, `${formatNumber(part.mib)} MiB`])),
  ];
}

const settingsText = (result) => [result.format, result.mode + (result.optimizer ? ` with ${result.optimizer}` : ''),
  result.precision + (result.autocast ? ` with autocast to ${result.autocast}` : ''), `batch ${result.batch}`,
  `on ${result.device}`, `context of ${result.environment}`].join(', ');

const BOUND_TEXTS = {gpu: 'GPU-bound', host: 'host-bound', link: 'link-bound'};

function figuresSection(result) {
  const {memory, latency, energy} = result;
  return element('section', {'aria-label': 'Figures'},
    element('div', {class: 'cards'},
      figureCard('Memory', memory.total_mib, memory.interval_mib, 'MiB', memory.source,
        note(`at least ${formatNumber(memory.least_mib)} MiB when cached segments are given back`)),
      figureCard('Latency', latency.ms, latency.interval_ms, 'ms', latency.source,
        note(`${formatNumber(1000 * result.batch / latency.ms)} samples per second; bound by arithmetic ` +
          `${formatNumber(latency.compute_ms)} ms, by memory ${formatNumber(latency.memory_ms)} ms, ` +
          `overhead ${formatNumber(latency.overhead_ms)} ms`),
        note(`${BOUND_TEXTS[latency.bound]}: kernels take ${formatNumber(latency.gpu_ms)} ms on the GPU, ` +
          `their dispatch ${formatNumber(latency.dispatch_ms)} ms on the host`)),
      figureCard('Energy', energy.j, energy.interval_j, 'J', energy.source,
        note(`${formatNumber(energy.average_power_w)} W on average`))),
    memoryParts(memory),
    note(`${formatCount(result.parameters)} parameters, ${formatCount(result.static_features.macs)} MACs, ` +
      `${result.operators} operators`));
}
