'use strict';

/** `max-batch`: the answer, and what was tried on the way. */
function batchesView(data) {
  return data.results.flatMap((result) => [
    element('p', {}, 'Largest batch of ', element('b', {}, result.model), ` on ${result.place}: `,
      element('b', {}, String(result.batch)), result.is_limit ? ' (the limit of the search)' : ''),
    batchesSection({points: data.tried}, data.device),
  ]);
}
