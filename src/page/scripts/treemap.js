'use strict';
// Modules as nested rectangles.

const MEASURES = [
  ['gpu_us', 'GPU time', (value) => `${formatNumber(value)} µs`],
  ['energy_j', 'energy', (value) => `${formatNumber(value)} J`],
  ['parameters', 'parameters', (value) => formatCount(value)],
  ['result_mib', 'memory of results', (value) => `${formatNumber(value)} MiB`],
  ['macs', 'MACs', (value) => formatCount(value)],
];
const NO_MODULE = 'no module';

/** The tree of dotted paths: what a module does itself is a leaf of it. */
function treeOf(modules) {
  const root = {name: 'all', path: '', children: new Map(), own: null};
  for (const module of modules) {
    let node = root;
    for (const part of module.path ? module.path.split('.') : [NO_MODULE]) {
      if (!node.children.has(part)) {
        const path = node.path ? `${node.path}.${part}` : part;
        node.children.set(part, {name: part, path, children: new Map(), own: null});
      }
      node = node.children.get(part);
    }
    node.own = module;
  }
  return root;
}

function childrenOf(node) {
  const children = [...node.children.values()];
  if (children.length && node.own) children.push({name: '(itself)', path: node.path, children: new Map(), own: node.own});
  return children;
}

const weigh = (tree, measure) => d3.hierarchy(tree, childrenOf)
  .sum((node) => childrenOf(node).length ? 0 : node.own?.[measure] ?? 0)
  .sort((a, b) => b.value - a.value);

const boxOf = (cell) => `left:${cell.x0}px;top:${cell.y0}px;width:${Math.max(0, cell.x1 - cell.x0)}px;` +
  `height:${Math.max(0, cell.y1 - cell.y0)}px`;

/** Cells of two levels below `tree`; open(node) goes into one. */
function treemapCells(tree, {width, height, measure, format, open}) {
  const root = weigh(tree, measure);
  d3.treemap().size([width, height]).paddingTop((cell) => cell.depth === 1 && cell.children ? 18 : 0)
    .paddingInner(1).round(true)(root);
  const label = (cell) => `${cell.data.path || cell.data.name}: ${format(cell.value)}, ` +
    `${formatPercent(root.value > 0 ? cell.value / root.value : 0)}`;
  const groups = root.children ?? [];
  const shown = (cell) => cell.value > 0 && cell.x1 - cell.x0 > 2 && cell.y1 - cell.y0 > 2;
  return groups.filter(shown).flatMap((group, i) => {
    const color = i < 9 ? PALETTE[i] : REST_COLOR;
    const inner = (group.children ?? []).filter(shown).map((cell) => element('div', {
      style: `${boxOf(cell)};background:${color};pointer-events:none`}, cell.data.name));
    const goes = group.data.children.size > 0;
    return [element(goes ? 'button' : 'div', {type: goes ? 'button' : null, tabindex: goes ? null : 0,
      style: `${boxOf(group)};background:color-mix(in srgb, ${color} 75%, white)`, title: label(group),
      'aria-label': label(group), onclick: goes ? () => open(group.data) : null}, group.data.name),
    ...inner];
  });
}

/** The section of modules: a treemap to go into, and all of it as a table. */
function modulesSection(modules) {
  if (modules.length === 0) return null;
  const root = treeOf(modules);
  let path = [root];
  let measure = MEASURES[0];
  const trail = element('div', {class: 'bar', role: 'group', 'aria-label': 'Module shown'});
  const show = (to) => {
    path = to;
    trail.replaceChildren(...path.map((node, i) => element('button', {
      type: 'button', onclick: () => show(path.slice(0, i + 1)), 'aria-pressed': String(i === path.length - 1),
    }, node.name)));
    picture.redraw();
  };
  const picture = figure('Modules', 'Area: share of the step. Press a module to go into it, Escape to go back.',
    (width) => {
      const height = Math.max(260, Math.min(420, width * 0.5));
      return element('div', {class: 'treemap', style: `height:${height}px`}, treemapCells(path.at(-1), {
        width: width - 2, height, measure: measure[0], format: measure[2],
        open: (node) => show([...path, node])}));
    });
  picture.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && path.length > 1) show(path.slice(0, -1));
  });
  const present = MEASURES.filter(([field]) => modules.some((module) => module[field] > 0));
  if (present.length === 0) return null;
  const bar = choice('Area', present.map(([field, name]) => [field, name]), (field) => {
    measure = MEASURES.find(([name]) => name === field);
    picture.redraw();
  });
  show([root]);
  return section('Modules', bar, trail, picture, details('All modules as a table',
    table('Modules', [
      {title: 'module', value: (row) => row.path || NO_MODULE},
      {title: 'parameters', value: (row) => row.parameters},
      {title: 'MACs', value: (row) => row.macs},
      {title: 'results MiB', value: (row) => row.result_mib},
      {title: 'GPU µs', value: (row) => row.gpu_us},
      {title: 'energy J', value: (row) => row.energy_j},
    ], modules)));
}
