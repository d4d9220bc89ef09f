'use strict';
// Which view a page has, and what every page has.

const VIEWS = {
  step: stepView, predictions: predictionsView, batches: batchesView, packing: packingView,
  dataset: datasetView, training: trainingView, learning_rate: learningRateView,
  evaluation: evaluationView, comparison: comparisonView, difference: differenceView,
  devices: devicesView,
};

/** Light, dark, or as the system has it. */
function themeButton() {
  const root = document.documentElement;
  const dark = () => root.dataset.theme ? root.dataset.theme === 'dark' :
    matchMedia('(prefers-color-scheme: dark)').matches;
  return element('button', {type: 'button', class: 'theme', 'aria-label': 'Switch between light and dark',
    onclick: () => root.dataset.theme = dark() ? 'light' : 'dark'}, '◐');
}

function showPage() {
  const data = JSON.parse(document.getElementById('data').textContent);
  const page = document.getElementById('page');
  page.append(themeButton());
  page.append(...VIEWS[document.body.dataset.view](data).flat(2).filter((child) => child));
}

showPage();
