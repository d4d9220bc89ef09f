'use strict';
// Elements, numbers and tables. Names of the data go in as text, never as HTML.

/** An element with attributes, listeners ("onclick") and children; null ones are left out. */
function element(name, attributes, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? '' : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

const section = (title, ...content) =>
  element('section', {'aria-label': title}, element('h2', {}, title), content);

const note = (...text) => element('p', {class: 'note'}, ...text);

/** Three significant digits below 1000, whole numbers above. */
function formatNumber(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–';
  if (value === 0) return '0';
  if (Math.abs(value) >= 999.5) return Math.round(value).toLocaleString('en');
  if (Math.abs(value) < 1e-3) return value.toExponential(2);
  return String(Number(value.toPrecision(3)));
}

/** With a decimal prefix: 25.6M. */
const formatCount = (value) => value < 1000 ? String(value) : d3.format('.3~s')(value);

const formatPercent = (share) => share === null ? '–' : `${formatNumber(100 * share)} %`;

/** "12.3 (10.1 – 14.8) MiB". */
const formatInterval = (interval, unit) =>
  `${formatNumber(interval[0])} – ${formatNumber(interval[1])} ${unit}`;

const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

/** Rows {name: value} of {name: [values]}. */
function rowsOf(columns) {
  const names = Object.keys(columns ?? {}).filter((name) => Array.isArray(columns[name]));
  const length = names.length ? columns[names[0]].length : 0;
  return Array.from({length}, (_, i) =>
    Object.fromEntries(names.map((name) => [name, columns[name][i]])));
}

function cellOf(column, row) {
  const value = column.value(row);
  const number = typeof value === 'number';
  return element('td', {class: [number ? 'number' : '', column.style?.(row) ?? ''].join(' ').trim() || null},
    number ? formatNumber(value) : value ?? '–');
}

function compareBy(value, sign) {
  return (left, right) => {
    const [a, b] = [value(left), value(right)];
    if (a === b) return 0;
    return sign * (a === null || a === undefined || a < b ? -1 : 1);
  };
}

/** A table that is sorted by the column whose head is pressed: columns are
 *  {title, value(row), style(row)}; numbers stand to the right. */
function table(label, columns, rows) {
  const body = element('tbody');
  const fill = (ordered) => body.replaceChildren(...ordered.map((row) =>
    element('tr', {}, columns.map((column) => cellOf(column, row)))));
  let sorted = [null, 1];
  const head = (column) => {
    const press = () => {
      sorted = [column, sorted[0] === column ? -sorted[1] : -1];
      for (const other of cells) other.removeAttribute('aria-sort');
      cells[columns.indexOf(column)].setAttribute('aria-sort', sorted[1] > 0 ? 'ascending' : 'descending');
      fill([...rows].sort(compareBy(column.value, sorted[1])));
    };
    return element('th', {scope: 'col'}, element('button', {type: 'button', onclick: press}, column.title));
  };
  const cells = columns.map(head);
  fill(rows);
  return element('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': label},
    element('table', {}, element('thead', {}, element('tr', {}, cells)), body));
}

/** Columns of rows as they come: a title for each field. */
const columnsOf = (titles) =>
  Object.entries(titles).map(([field, title]) => ({title, value: (row) => row[field]}));

/** A table behind a line that opens it. */
const details = (summary, ...content) =>
  element('details', {}, element('summary', {}, summary), content);

/** Buttons of which one is pressed; use(value) is called with its value. */
function choice(label, options, use) {
  const buttons = options.map(([value, text]) => element('button', {
    type: 'button', 'aria-pressed': 'false',
    onclick: () => choose(value),
  }, text));
  const choose = (chosen) => {
    buttons.forEach((button, i) =>
      button.setAttribute('aria-pressed', String(options[i][0] === chosen)));
    use(chosen);
  };
  choose(options[0][0]);
  return element('div', {class: 'bar', role: 'group', 'aria-label': label},
    element('span', {class: 'note'}, label), buttons);
}

const legend = (entries) => element('ul', {class: 'legend'}, entries.map(([name, color, value]) =>
  element('li', {}, element('i', {style: `background:${color}`}), name,
    value === undefined ? null : ` ${value}`)));

const warningsList = (warnings) => warnings.length === 0 ? null :
  section('Warnings', element('ul', {class: 'warnings'},
    warnings.map((warning) => element('li', {}, warning))));
