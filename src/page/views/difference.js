'use strict';

/** "+12.3 %", as the command prints it. */
function change({a, b}) {
  if (a === b) return '';
  return a === 0 ? 'new' : `${b > a ? '+' : ''}${formatPercent(b / a - 1)}`;
}

/** Blanks before a name, which say that it is a part, shown as blanks. */
const indented = (name) => name.replace(/^ +/, (blanks) => '\u00a0'.repeat(2 * blanks.length));

const changeStyle = ({a, b}) => a === b ? '' : b > a ? 'bad' : 'good';

/** `diff`: two answers beside each other, then module by module. */
function differenceView(data) {
  const pair = (field) => [
    {title: `${field.title}, A`, value: (row) => row.a?.[field.name] ?? null},
    {title: `${field.title}, B`, value: (row) => row.b?.[field.name] ?? null},
  ];
  const fields = [{name: 'parameters', title: 'parameters'}, {name: 'macs', title: 'MACs'},
    {name: 'result_mib', title: 'results MiB'}, {name: 'gpu_us', title: 'GPU µs'}];
  return [
    element('p', {}, element('b', {}, 'A: '), `${data.a.model}, ${settingsText(data.a)}`),
    element('p', {}, element('b', {}, 'B: '), `${data.b.model}, ${settingsText(data.b)}`),
    section('What changed', table('What changed', [
      {title: '', value: (row) => indented(row.name)}, {title: 'A', value: (row) => row.a}, {title: 'B', value: (row) => row.b},
      {title: 'unit', value: (row) => row.unit}, {title: 'change', value: change, style: changeStyle},
    ], data.figures)),
    section('Modules that changed', data.modules.length === 0 ? note('none') :
      table('Modules that changed', [{title: 'module', value: (row) => row.path || NO_MODULE}, ...fields.flatMap(pair)], data.modules)),
  ];
}
