'use strict';
// Memory over the step: every large tensor is a band from its birth to its death.

const topModule = (path) => path ? path.split('.').slice(0, 2).join('.') : 'no module';

/** Where each tensor lies at each moment, piled up in the order of birth:
 *  rows {tensor, x, low, high}, one where a band begins, moves or ends. */
function bandsOf(tensors, moments, end) {
  const bands = [];
  const place = new Map();
  const alive = d3.group(tensors, (tensor) => tensor.first);
  let live = [];
  moments.forEach((moment, i) => {
    for (const tensor of live.filter((one) => one.last < i)) {
      bands.push({tensor, x: moment.operator, low: place.get(tensor), high: place.get(tensor) + tensor.mib});
    }
    live = live.filter((tensor) => tensor.last >= i).concat(alive.get(i) ?? []);
    let low = 0;
    for (const tensor of live) {
      if (place.get(tensor) !== low) {
        bands.push({tensor, x: moment.operator, low, high: low + tensor.mib});
        place.set(tensor, low);
      }
      low += tensor.mib;
    }
    moment.shown = low;
    moment.live = live;
  });
  for (const tensor of live) {
    bands.push({tensor, x: end, low: place.get(tensor), high: place.get(tensor) + tensor.mib});
  }
  return bands;
}

/** What is alive at a moment, in words and as a table. */
function aliveAt(moment) {
  const rows = [...moment.live].sort((a, b) => b.mib - a.mib).slice(0, 15);
  const smaller = moment.total - sum(rows.map((row) => row.mib));
  return [
    element('p', {}, `Operator ${moment.operator}, `, element('b', {}, moment.name),
      ` (${moment.phase}): ${formatNumber(moment.total)} MiB of tensors alive, ` +
      `${formatNumber(moment.allocated_mib)} MiB allocated, ${formatNumber(moment.reserved_mib)} MiB reserved.`),
    table('Tensors alive at the operator', [
      {title: 'tensor', value: (row) => row.label || '(unnamed)'},
      {title: 'role', value: (row) => roleName(row.role)},
      {title: 'module', value: (row) => row.module || '–'},
      {title: 'type', value: (row) => row.type || '–'},
      {title: 'MiB', value: (row) => row.mib},
    ], rows),
    note(`and ${formatNumber(Math.max(0, smaller))} MiB in other tensors`),
  ];
}

function momentsOf(data) {
  const moments = rowsOf(data.moments);
  const roles = data.moments?.by_role ?? {};
  moments.forEach((moment, i) => {
    moment.total = sum(Object.values(roles).map((column) => column[i]));
  });
  return moments;
}

/** The picture itself; hovering calls look(moment index, tensor or null). */
function memoryPlot(width, {bands, moments, end, color, look, at}) {
  const smaller = moments.map((moment) => ({x: moment.operator, low: moment.shown, high: moment.total}));
  if (smaller.length) smaller.push({...smaller.at(-1), x: end});
  const edge = new Set(bands.map((row) => row.tensor)).size > 150 ? 0.02 : 0.3;
  const step = {x: 'operator', curve: 'step-after', strokeWidth: 1.5};
  const plot = Plot.plot({
    width, height: Math.max(280, Math.min(460, width * 0.6)), marginLeft: 58, marginTop: 26, marginBottom: 40,
    ariaLabel: 'Memory over the step', style: {fontSize: '12px', background: 'transparent', overflow: 'visible'},
    x: {label: 'operator of the step →', domain: [0, end]},
    y: {label: '↑ MiB', grid: true, nice: true},
    marks: [
      Plot.areaY(bands, {x: 'x', y1: 'low', y2: 'high', z: (row) => tensorId(row.tensor), curve: 'step-after',
        fill: (row) => color(row.tensor), stroke: 'var(--paper)', strokeWidth: edge}),
      Plot.areaY(smaller, {x: 'x', y1: 'low', y2: 'high', curve: 'step-after', fill: REST_COLOR, fillOpacity: 0.55}),
      Plot.lineY(moments, {...step, y: 'allocated_mib', stroke: 'var(--ink)'}),
      Plot.lineY(moments, {...step, y: 'reserved_mib', stroke: 'var(--soft)', strokeDasharray: '4 3'}),
      Plot.ruleY([0]),
    ],
  });
  addCursor(plot, {moments, look, at});
  return plot;
}

const tensorIds = new Map();
function tensorId(tensor) {
  if (!tensorIds.has(tensor)) tensorIds.set(tensor, tensorIds.size);
  return tensorIds.get(tensor);
}

/** A line at the moment that is looked at; the pointer moves it. */
function addCursor(plot, {moments, look, at}) {
  const [x, y] = [plot.scale('x'), plot.scale('y')];
  const line = d3.select(plot).append('line').attr('stroke', 'var(--ink)').attr('stroke-dasharray', '2 2')
    .attr('y1', y.range[0]).attr('y2', y.range[1]).attr('pointer-events', 'none');
  plot.moveCursor = (i) => {
    if (moments[i]) line.attr('x1', x.apply(moments[i].operator)).attr('x2', x.apply(moments[i].operator));
  };
  plot.moveCursor(at());
  const follow = (event) => {
    const [left, top] = d3.pointer(event, plot);
    const i = Math.max(0, d3.bisectRight(moments.map((moment) => moment.operator), x.invert(left)) - 1);
    let mib = y.invert(top);
    const under = (moments[i]?.live ?? []).find((tensor) => (mib -= tensor.mib) < 0);
    look(i, y.invert(top) >= 0 ? under ?? null : null);
  };
  plot.addEventListener('pointermove', follow);
  plot.addEventListener('pointerdown', follow);
}

function bandColors(tensors, by) {
  if (by === 'role') {
    const present = Object.keys(ROLES).filter((role) => tensors.some((tensor) => tensor.role === role));
    return {color: (tensor) => roleColor(tensor.role),
      entries: present.map((role) => [roleName(role), roleColor(role)])};
  }
  const names = heaviest(tensors, (tensor) => topModule(tensor.module), (tensor) => tensor.mib);
  const color = colorsOf(names);
  return {color: (tensor) => color(topModule(tensor.module)),
    entries: names.slice(0, 9).map((name) => [name, color(name)])};
}

/** The section: picture, what is alive under the cursor, and a slider for keys. */
function memoryOverStep(data) {
  const moments = momentsOf(data);
  if (moments.length === 0) return null;
  const tensors = rowsOf(data.tensors);
  const bands = bandsOf(tensors, moments, data.operators);
  let at = d3.maxIndex(moments, (moment) => moment.allocated_mib);
  let colors = bandColors(tensors, 'role');
  let plot = null;
  const readout = element('div', {class: 'readout', 'aria-live': 'polite'});
  const under = note();
  const keys = element('div');
  const slider = element('input', {type: 'range', min: 0, max: moments.length - 1, value: at,
    'aria-label': 'operator of the step', oninput: () => look(Number(slider.value), null)});
  const look = (i, tensor) => {
    at = i;
    slider.value = String(i);
    readout.replaceChildren(...aliveAt(moments[i]));
    under.textContent = tensor === null ? 'Point at a band, or move the slider with the arrow keys.' :
      `Under the pointer: ${tensor.label || 'unnamed'} ${tensor.type}, ${formatNumber(tensor.mib)} MiB, ` +
      `${roleName(tensor.role)}${tensor.module ? ` of ${tensor.module}` : ''}.`;
    plot?.moveCursor(i);
  };
  const picture = figure('Memory over the step',
    'Bands: tensors. Solid line: allocated, with workspaces and rounding. Dashed: reserved by the allocator. ' +
    'The CUDA context is not in it.',
    (width) => plot = memoryPlot(width, {bands, moments, end: data.operators, look, at: () => at,
      color: (tensor) => colors.color(tensor)}));
  const recolor = (by) => {
    colors = bandColors(tensors, by);
    keys.replaceChildren(legend([...colors.entries, ['other tensors', REST_COLOR]]));
    picture.redraw();
  };
  const bar = choice('Color by', [['role', 'role'], ['module', 'module']], recolor);
  look(at, null);
  return section('Memory', bar, picture, slider, keys, under, readout);
}
