'use strict';
// MIG profiles: a verdict each, and where their slices lie.

const FIT_STYLE = {'fits': 'good', 'fits when PyTorch empties its cache': 'tight', 'does not fit': 'bad'};
const FIT_SIGN = {good: '✓', tight: '~', bad: '✗'};
const fitStyle = (row) => FIT_STYLE[row.fit] ?? '';

/** A row per profile, a column per memory slot; an instance at every place. */
function slotGrid(mig, verdicts, chosen) {
  const style = new Map(verdicts.map((verdict) => [verdict.profile, fitStyle(verdict)]));
  const cells = mig.profiles.filter((profile) => style.has(profile.profile)).flatMap((profile, i) => {
    const state = style.get(profile.profile);
    const picked = profile.profile === chosen;
    return [
      element('span', {style: `grid-row:${i + 1};grid-column:1`}, `${FIT_SIGN[state]} ${profile.profile}`),
      ...profile.placements.map((start) => element('span', {
        class: `slot ${state}${picked ? ' chosen' : ''}`,
        style: `grid-row:${i + 1};grid-column:${start + 2} / span ${profile.memory_slots}`,
        title: `${profile.profile} from slot ${start}: ${profile.usable_mib} MiB, ${profile.sms} SMs`,
      }, `${formatNumber(profile.usable_mib / 1024)} GiB`)),
    ];
  });
  return element('div', {class: 'slots', role: 'img',
    'aria-label': `Places of MIG slices on ${mig.memory_slots} memory slots`,
    style: `grid-template-columns:minmax(5.5rem,auto) repeat(${mig.memory_slots},minmax(0,1fr))`}, cells);
}

function slicesSection(mig, device) {
  const rows = [...mig.profiles, {...mig.whole_device, profile: 'without MIG'}];
  const hasMig = mig.profiles.length > 0;
  return section(hasMig ? 'MIG slices' : 'The device',
    element('p', {}, element('b', {}, mig.profile ?? (hasMig ? 'no profile' : 'no MIG slice')), `: ${mig.reason}`),
    hasMig ? slotGrid(device.mig, mig.profiles, mig.profile) : null,
    hasMig ? note('Each row shows the places that a slice may take among the memory slots; the marked profile is the smallest that fits.') : null,
    table('Verdicts', [
      {title: 'profile', value: (row) => row.profile + (row.profile === mig.profile ? ' ★' : '')},
      {title: 'verdict', value: (row) => `${FIT_SIGN[fitStyle(row)]} ${row.fit}`, style: fitStyle},
      {title: 'usable MiB', value: (row) => row.usable_mib},
      {title: 'margin MiB', value: (row) => row.margin_mib},
      {title: 'SMs', value: (row) => row.sms},
      {title: 'latency ms', value: (row) => row.latency_ms},
      {title: 'energy J', value: (row) => row.energy_j},
    ], rows));
}
