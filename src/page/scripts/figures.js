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

const OUTCOME_CLASSES = {fits: 'good', tight: 'tight', 'does not fit': 'bad'};

/** What a reader asks first, as text shows it. */
function verdictSection(verdict) {
  const lines = verdict.lines.map(({label, text}) => [element('dt', {}, label), element('dd', {}, text)]);
  lines[0][0].className = OUTCOME_CLASSES[verdict.outcome];
  return element('section', {class: 'verdict', 'aria-label': 'Verdict'},
    note([verdict.title, verdict.inputs].filter(Boolean).join(', ')), note(`on ${verdict.place}`),
    element('dl', {}, lines.flat()));
}

/** What the memory of the process consists of at the peak. */
function memoryParts(verdict) {
  const parts = verdict.parts.map((part) => ({...part, color: partColor(part.name)}));
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
        note(`minimum ${formatNumber(memory.least_mib)} MiB with the allocator's cache emptied`)),
      figureCard('Latency', latency.ms, latency.interval_ms, 'ms', latency.source,
        note(`${formatNumber(1000 * result.batch / latency.ms)} samples per second; bound by arithmetic ` +
          `${formatNumber(latency.compute_ms)} ms, by memory ${formatNumber(latency.memory_ms)} ms, ` +
          `overhead ${formatNumber(latency.overhead_ms)} ms`),
        note(`${BOUND_TEXTS[latency.bound]}: ${formatNumber(latency.gpu_ms)} ms of kernels, ` +
          `${formatNumber(latency.dispatch_ms)} ms of CPU launch time`)),
      figureCard('Energy', energy.j, energy.interval_j, 'J', energy.source,
        note(`${formatNumber(energy.average_power_w)} W on average`))),
    memoryParts(result.verdict),
    note(`${formatCount(result.parameters)} parameters, ${formatCount(result.static_features.macs)} MACs, ` +
      `${result.operators} operators`));
}
