'use strict';

/** The slots of one device with the instances that lie on them. */
function packedDevice(packing, slots, device) {
  const own = packing.instances.filter((instance) => instance.device === device);
  return element('div', {}, element('h3', {}, `Device ${device}`),
    element('div', {class: 'slots', role: 'img', 'aria-label': `Instances of device ${device}`,
      style: `grid-template-columns:repeat(${slots},minmax(0,1fr))`},
    Array.from({length: slots}, (_, i) => element('span', {class: 'note', style: `grid-row:1;grid-column:${i + 1}`}, `slot ${i}`)),
    own.map((instance, i) => element('span', {
      class: 'slot', style: `grid-row:2;grid-column:${instance.start + 1} / span ${instance.memory_slots};` +
        `background:color-mix(in srgb, ${PALETTE[i % 9]} 35%, transparent);white-space:normal`,
      title: `${instance.profile}: ${instance.model}`,
    }, element('b', {}, instance.profile), element('br'), instance.model))));
}

/** `mig pack`: which model lies where. */
function packingView(data) {
  const {packing, device} = data;
  return [
    element('p', {class: packing.fits ? 'good' : 'bad'}, packing.fits ? '✓ everything fits' : `✗ does not fit: ${packing.reason}`,
      ` (${packing.num_devices} of ${device.display_name})`),
    Array.from({length: packing.num_devices}, (_, i) => packedDevice(packing, device.mig.memory_slots, i)),
    section('Instances', table('Instances', columnsOf({model: 'model', device: 'device', profile: 'profile',
      start: 'first slot', memory_slots: 'slots', needed_mib: 'MiB at most', margin_mib: 'margin MiB', latency_ms: 'latency ms', energy_j: 'energy J'}), packing.instances)),
    packing.unplaced.length === 0 ? null :
      section('Without a place', element('ul', {}, packing.unplaced.map((model) => element('li', {}, model)))),
  ];
}
