// Draws the panels of a Grafana dashboard from what Prometheus answers to their
// queries, as one PNG:
//
//     node draw.js DASHBOARD PROMETHEUS FROM TO OUT.png
//
// FROM and TO are Unix seconds. It knows what our dashboard uses of Grafana, and
// fails at a panel of a kind that it does not know.
'use strict';

const fs = require('fs');
const echarts = require('echarts');
const { Resvg } = require('@resvg/resvg-js');

const [, , dashboard, prometheus, from, to, out] = process.argv;
const step = 5, window = 20; // seconds; Grafana takes four scrapes for $__rate_interval
const cell = { width: 58, height: 25 }, margin = 8;
const ink = '#24292e', faint = '#6e7781', line = '#d0d7de';

const variables = { $__rate_interval: `${window}s`, $__range: `${to - from}s`, $service: '.*' };
const resolve = (expr) => Object.entries(variables).reduce((e, [name, value]) => e.replaceAll(name, value), expr);

async function ask(target) {
  const path = target.instant ? `query?time=${to}` : `query_range?start=${from}&end=${to}&step=${step}`;
  const response = await fetch(`${prometheus}/api/v1/${path}`, { method: 'POST', body: new URLSearchParams({ query: resolve(target.expr) }) });
  const answer = await response.json();
  if (answer.status !== 'success') throw new Error(`${target.expr}: ${answer.error}`);
  return answer.data.result;
}

const number = (text) => (Number.isFinite(+text) ? +text : null);
const named = (format, labels) => format.replace(/{{(.*?)}}/g, (_, label) => labels[label] ?? '');

// echarts guesses how wide text is where there is no browser; DejaVu is wider.
echarts.setPlatformAPI({ measureText: (text, font) => ({ width: text.length * 0.62 * parseFloat(/([\d.]+)px/.exec(font)?.[1] ?? 12) }) });

// scaled prints a value in the unit with the prefix that suits it.
function scaled(value, steps) {
  const [factor, suffix] = steps.find(([f]) => Math.abs(value) >= f) ?? steps.at(-1);
  return `${+(value / factor).toPrecision(2)}${suffix}`;
}
const units = {
  percentunit: (v) => `${+(v * 100).toPrecision(3)}%`,
  s: (v) => scaled(v, [[1, ' s'], [1e-3, ' ms'], [1e-6, ' µs']]),
  bytes: (v) => scaled(v, [[2 ** 30, ' GiB'], [2 ** 20, ' MiB'], [2 ** 10, ' KiB'], [1, ' B']]),
  reqps: (v) => `${+v.toPrecision(3)} req/s`,
  cps: (v) => `${+v.toPrecision(3)} c/s`,
};
const format = (unit) => (v) => (v === 0 ? '0' : units[unit](v));

const matchers = {
  byName: (option, name) => option === name,
  byRegexp: (option, name) => new RegExp(option.slice(1, -1)).test(name), // without its slashes
};

// properties returns what the overrides of a panel say of a field, by name.
function properties(panel, name) {
  const found = {};
  for (const { matcher, properties } of panel.fieldConfig.overrides ?? []) {
    if (!matchers[matcher.id]) throw new Error(`${panel.title}: override ${matcher.id}`);
    if (matchers[matcher.id](matcher.options, name)) for (const p of properties) found[p.id] = p.value;
  }
  return found;
}

const classic = ['#5794f2', '#ff9830', '#b877d9', '#73bf69', '#f2495c', '#fade2a', '#8ab8ff', '#ffa6b0', '#37872d', '#e0b400'];

// paint gives each series its colour: a fixed one, or one of the palette.
function paint(panel, names) {
  return names.map((name, i) => properties(panel, name).color?.fixedColor ?? classic[i % classic.length]);
}

const grid = { left: 8, right: 12, top: 40, bottom: 44, containLabel: true };
const axis = { axisLabel: { color: faint, fontSize: 11 }, axisLine: { lineStyle: { color: line } }, splitLine: { lineStyle: { color: '#eaeef2' } } };

function frame(panel, names) {
  return {
    animation: false, textStyle: { fontFamily: 'DejaVu Sans' }, backgroundColor: '#ffffff', grid,
    title: { text: panel.title, left: 10, top: 8, textStyle: { fontSize: 14, color: ink } },
    legend: { data: names, bottom: 6, left: 10, right: 10, itemWidth: 12, itemHeight: 8, itemGap: 10, icon: 'rect', textStyle: { fontSize: 11, color: faint } },
  };
}

async function barchart(panel) {
  const [transform] = panel.transformations;
  const { columnField, rowField, emptyValue } = transform.options;
  if (transform.id !== 'groupingToMatrix' || emptyValue !== 'zero') throw new Error(`${panel.title}: ${JSON.stringify(transform)}`);
  const rows = await ask(panel.targets[0]);
  const x = [...new Set(rows.map((r) => r.metric[rowField]))].sort();
  const names = [...new Set(rows.map((r) => r.metric[columnField]))].sort();
  const colours = paint(panel, names);
  const value = (row, column) => number(rows.find((r) => r.metric[rowField] === row && r.metric[columnField] === column)?.value[1] ?? 0);
  const data = names.map((name, i) => ({ name, type: 'bar', stack: 'A', barWidth: '70%', itemStyle: { color: colours[i] }, data: x.map((row) => value(row, name)) }));
  const { unit, min, max } = panel.fieldConfig.defaults;
  return {
    ...frame(panel, seen(data)), series: data,
    xAxis: { ...axis, type: 'category', data: x }, yAxis: { ...axis, type: 'value', min, max, axisLabel: { ...axis.axisLabel, formatter: format(unit) } },
  };
}

// seen names the series that are not zero all the time.
const seen = (series) => series.filter((s) => s.data.some((p) => (p?.[1] ?? p) > 0)).map((s) => s.name);

async function timeseries(panel) {
  const custom = panel.fieldConfig.defaults.custom ?? {};
  const answers = await Promise.all(panel.targets.map(ask));
  const all = answers.flatMap((rows, i) => rows.map((r) => ({ name: named(panel.targets[i].legendFormat, r.metric), points: r.values })));
  all.sort((a, b) => (a.name < b.name ? -1 : 1));
  const colours = paint(panel, all.map((s) => s.name));
  const stacked = custom.stacking?.mode === 'normal';
  const others = new Set(stacked ? all.flatMap((s) => s.points.map(([t]) => t)) : []);
  const data = all.map((s, i) => {
    const own = properties(panel, s.name);
    return {
      name: s.name, type: 'line', showSymbol: false, yAxisIndex: own['custom.axisPlacement'] === 'right' ? 1 : own['custom.axisPlacement'] === 'hidden' ? 2 : 0,
      stack: stacked ? 'A' : undefined, itemStyle: { color: colours[i] },
      lineStyle: { width: own['custom.lineWidth'] ?? custom.lineWidth ?? 1.5, color: colours[i] },
      areaStyle: (own['custom.fillOpacity'] ?? custom.fillOpacity) ? { opacity: (own['custom.fillOpacity'] ?? custom.fillOpacity) / 100, color: colours[i] } : undefined,
      data: filled(s.points, others),
    };
  });
  const { unit, min, max } = panel.fieldConfig.defaults;
  const right = data.find((s) => s.yAxisIndex === 1), hidden = data.find((s) => s.yAxisIndex === 2);
  const scale = (u, extra) => ({ ...axis, type: 'value', axisLabel: { ...axis.axisLabel, formatter: format(u) }, ...extra });
  return {
    ...frame(panel, seen(data)), series: data,
    xAxis: { ...axis, type: 'value', min: 0, max: to - from, interval: 30, splitLine: { show: false }, axisLabel: { ...axis.axisLabel, formatter: elapsed } },
    yAxis: [scale(unit, { min, max }), scale(right ? properties(panel, right.name).unit : unit, { splitLine: { show: false } }), hidden ? { show: false, type: 'value', min: properties(panel, hidden.name).min, max: properties(panel, hidden.name).max } : { show: false }],
  };
}

const elapsed = (seconds) => `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;

// filled puts points on the grid of steps. Where one is missing in a stack that
// has others, it is 0.
function filled(points, others) {
  const at = new Map(points.map(([t, v]) => [t, number(v)]));
  const grid = [];
  for (let t = +from; t <= to; t += step) grid.push([t - from, at.get(t) ?? (others.has(t) ? 0 : null)]);
  return grid;
}

const kinds = { barchart, timeseries };

async function svg(panel) {
  const { w, h } = panel.gridPos;
  const width = w * cell.width - margin, height = h * cell.height - margin;
  if (!kinds[panel.type]) throw new Error(`${panel.title}: panel of kind ${panel.type}`);
  const chart = echarts.init(null, null, { renderer: 'svg', ssr: true, width, height });
  chart.setOption(await kinds[panel.type](panel));
  const text = chart.renderToSVGString();
  chart.dispose(); // or its timers keep the process alive
  return text;
}

async function main() {
  const board = JSON.parse(fs.readFileSync(dashboard, 'utf8'));
  const parts = [];
  let bottom = 0;
  for (const panel of board.panels) {
    const { x, y, h } = panel.gridPos;
    bottom = Math.max(bottom, (y + h) * cell.height);
    const at = `translate(${x * cell.width + margin} ${y * cell.height + margin})`;
    parts.push(panel.type === 'row'
      ? `<text transform="${at}" x="4" y="16" font-family="DejaVu Sans" font-size="15" font-weight="bold" fill="${ink}">${panel.title}</text>`
      : `<g transform="${at}">${await svg(panel)}</g>`);
  }
  const width = 24 * cell.width + margin, height = bottom + margin;
  const page = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"><rect width="100%" height="100%" fill="#f6f8fa"/>${parts.join('')}</svg>`;
  fs.writeFileSync(out, new Resvg(page, { font: { loadSystemFonts: true, defaultFontFamily: 'DejaVu Sans' } }).render().asPng());
}

main().catch((e) => {
  process.stderr.write(`draw.js: ${e.stack}\n`);
  process.exitCode = 1;
});
