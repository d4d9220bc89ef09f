'use strict';
// What memory is made of has the same color on all pictures. `foretell predict` paints
// its bar in the nearest ones that terminals have (cli/print/memory_bar.cc), and
// scripts/lib/palette.py reads them here for the pictures of the documentation.

const MEMORY_COLORS = {
  parameters: 'var(--c0)',
  workspaces: 'var(--c1)',
  inputs: 'var(--c2)',
  gradients: 'var(--c3)',
  activations: 'var(--c4)',
  'optimizer states': 'var(--c5)',
  temporaries: 'var(--c6)',
  'NCCL buffers': 'var(--c7)',
  buffers: 'var(--c8)',
  'CUDA context': 'var(--c9)',
  'allocator cache': 'var(--line)',
};
const partColor = (name) => MEMORY_COLORS[name] ?? REST_COLOR;

/** Roles of tensors: what they are called, the part of the memory that they belong to,
 *  and whether they are drawn lighter than the others of it. */
const ROLES = {
  input: ['inputs', 'inputs'],
  parameter: ['parameters', 'parameters'],
  buffer: ['buffers', 'buffers'],
  activation: ['activations', 'activations', true],
  saved: ['saved for the backward pass', 'activations'],
  gradient: ['gradients', 'gradients'],
  backward_temporary: ['temporaries of the backward pass', 'temporaries'],
  optimizer_state: ['optimizer state', 'optimizer states'],
  optimizer_temporary: ['temporaries of the optimizer', 'temporaries', true],
};
const lighter = (color) => `color-mix(in srgb, ${color} 60%, white)`;

const roleName = (role) => ROLES[role]?.[0] ?? role;
function roleColor(role) {
  const [, part, isLighter] = ROLES[role] ?? [];
  return isLighter ? lighter(partColor(part)) : partColor(part);
}
