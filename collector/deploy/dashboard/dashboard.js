// Writes the Grafana dashboard, otelgc.json, to stdout:
//
//     npm install @grafana/grafana-foundation-sdk@0.0.21
//     node dashboard.js > otelgc.json
//
// The queries read the page of the Collector's prometheus exporter and need no
// recording rules.
'use strict';

const { DashboardBuilder, DatasourceVariableBuilder, QueryVariableBuilder, DashboardCursorSync, FieldColorModeId, VariableRefresh, RowBuilder } =
  require('@grafana/grafana-foundation-sdk/dashboard');
const { PanelBuilder: TimeSeries } = require('@grafana/grafana-foundation-sdk/timeseries');
const { PanelBuilder: BarChart } = require('@grafana/grafana-foundation-sdk/barchart');
const { DataqueryBuilder, PromQueryFormat } = require('@grafana/grafana-foundation-sdk/prometheus');
const { StackingConfigBuilder, StackingMode, VizLegendOptionsBuilder, LegendDisplayMode, LegendPlacement, VizOrientation } =
  require('@grafana/grafana-foundation-sdk/common');

const source = { type: 'prometheus', uid: '${datasource}' };
const window = '$__rate_interval';
const service = 'service_name=~"$service"';

// requests sums a counter of requests by labels. The service's own series win: those
// of the Collector count the spans that reach it, of sampled ones a part.
function requests(metric, by = [], more = '', over = window) {
  const sum = (who) => `sum by (${['service_name', ...by].join(', ')}) (rate(${metric}{${service}, ${who}${more}}[${over}]))`;
  return `sum by (${by.join(', ')}) (${sum('collector_instance_id=""')} or on (service_name) ${sum('collector_instance_id!=""')})`;
}

const latency = 'otelgc_latency_bucket';
const cause = 'otelgc_cause';
const slow = ', otelgc_latency_bucket=~"le_500ms|le_1s|gt_1s"';
const stalled = (by, more, over) => requests('otelgc_request_stall_time_seconds_total', by, more, over);
const total = (by, more, over) => requests('otelgc_request_time_seconds_total', by, more, over);
const rate = (metric, more, by) => `sum by (${by}) (rate(${metric}{${more}}[${window}]))`;

// What all CPUs stood still for together is told once more beside their own gaps.
const gap = (what, more, by) => rate(`otelgc_jitter_gap_duration_seconds_${what}`, `otelgc_jitter_scope!="machine"${more}`, by);
const observed = (by) => `(${rate('otelgc_jitter_observed_time_seconds_total', '', by)} > 0)`;
const stolen = ', otelgc_cause=~"host[.](steal|irq_or_steal|throttled|preempted)"';

// own matches a counter of the connector itself. Whether the name ends in _total
// depends on how the Collector is set up.
const own = (name) => `__name__=~"otelcol_connector_stall_${name}(_total)?"`;

// least is how often a service tells at the least (OTEL_METRIC_EXPORT_INTERVAL, by
// default 60 s): Grafana makes $__rate_interval four of these. Scrapes are more
// frequent, and a rate over one of theirs would see no step, or one and call it all.
const least = '1m';

function query(expr, legend) {
  return new DataqueryBuilder().expr(expr).legendFormat(legend).interval(least).range();
}

function panel(kind, title, description, unit, ...queries) {
  const p = new kind().title(title).description(description).unit(unit).datasource(source).height(9).span(12)
    .legend(new VizLegendOptionsBuilder().displayMode(LegendDisplayMode.List).placement(LegendPlacement.Bottom).showLegend(true));
  queries.forEach((q, i) => p.withTarget(q.refId(String.fromCharCode(65 + i)).datasource(source)));
  return p;
}

// owned gives each owner of time its colour, the same in every panel: the
// collector red, the scheduler yellow, the machine blue, the program green, and
// what nobody knows grey.
const colours = {
  'gc.pause': '#c4162a', 'gc.assist': '#f2495c', 'gc.sweep': '#ffa6b0', 'gc.wait': '#ff7383', 'runtime.suspension': '#a352cc', 'runtime.unknown': '#deb6f2',
  'sched.gc': '#ff780a', 'sched': '#f2cc0c', 'queue': '#ffee52',
  'host.throttled': '#132f6b', 'host.preempted': '#1f60c4', 'host.irq': '#3274d9', 'host.steal': '#5794f2', 'host.irq_or_steal': '#6f9fe8',
  'host.fault': '#8ab8ff', 'host.suspended': '#a7c7f7', 'host.unknown': '#c0d8ff',
  'app': '#56a64b', 'app_or_host': '#a5d69f', 'uncertain': '#c7d0d9', 'unseen': '#7b8087',
};
const owned = (p, who = /^/) => Object.entries(colours).filter(([name]) => who.test(name)).reduce((of, [name, colour]) =>
  of.overrideByName(name, [{ id: 'color', value: { mode: FieldColorModeId.Fixed, fixedColor: colour } }]), p);

const lines = (...args) => panel(TimeSeries, ...args);
const stack = () => new StackingConfigBuilder().mode(StackingMode.Normal).group('A');
const area = (...args) => lines(...args).stacking(stack()).fillOpacity(60).lineWidth(0).min(0);

// ordered gives the latency buckets names that sort by latency.
const ordered = (expr) => ['le_1ms', 'le_5ms', 'le_10ms', 'le_50ms', 'le_100ms', 'le_500ms', 'le_1s', 'gt_1s']
  .reduce((of, bucket, i) => `label_replace(${of}, "latency", "${i + 1}: ${bucket}", "${latency}", "${bucket}")`, expr);

// bars shows one bar per latency bucket, stacked by cause, over all that is shown.
function bars() {
  const share = ordered(`(${stalled([latency, cause], '', '$__range')} / on (${latency}) group_left () (${total([latency], '', '$__range')} > 0))`);
  const rows = `latency\\${cause}`; // what Grafana names the column of the rows
  return panel(BarChart, 'Who is to blame, by latency of the request',
    'Share of the time of the requests of each latency, by owner. The slowest buckets are the p99. unseen: nobody watched; uncertain: within the error of the clocks; app_or_host: nobody watched the host.',
    'percentunit', new DataqueryBuilder().expr(share).legendFormat('{{' + cause + '}}').instant().format(PromQueryFormat.Table))
    .stacking(StackingMode.Normal).orientation(VizOrientation.Vertical).xField(rows).min(0).max(1)
    .withTransformation({ id: 'groupingToMatrix', options: { columnField: cause, rowField: 'latency', valueField: 'Value', emptyValue: 'zero' } })
    .withTransformation({ id: 'sortBy', options: { fields: {}, sort: [{ field: rows }] } })
    .span(24);
}

const blame = [
  owned(bars()),
  owned(area('Slow requests by cause', 'Share of the time of the requests over 100 ms, by owner.', 'percentunit',
    query(`${stalled([cause], slow)} / on () group_left () (${total([], slow)} > 0)`, `{{${cause}}}`)).max(1)),
  area('Requests by latency', 'Requests per second in each latency bucket: where the p99 lies.', 'reqps',
    query(requests('otelgc_requests_total', [latency]), `{{${latency}}}`)),
  owned(lines('Longest stalls by cause', 'How long one stall in a hundred of each cause lasts. Each dot is one request: it leads to its trace.', 's',
    query(`histogram_quantile(0.99, ${rate('otelgc_request_stall_duration_seconds_bucket', service, `${cause}, le`)})`, `{{${cause}}}`).exemplar(true))).span(24),
];

const pauses = [
  lines('Pauses by kind', 'Stop-the-world pauses: median, p99.', 's',
    ...[['0.5', 'p50'], ['0.99', 'p99']].map(([q, name]) =>
      query(`histogram_quantile(${q}, ${rate('otelgc_gc_pause_duration_seconds_bucket', service, 'otelgc_gc_kind, le')})`, `{{otelgc_gc_kind}} ${name}`))),
  area('Time stopped by kind', 'Share of wall time in pauses, per process, on average.', 'percentunit',
    query(`avg by (otelgc_gc_kind) (${rate('otelgc_gc_pause_duration_seconds_sum', service, 'otelgc_gc_kind, service_name, service_instance_id, otelgc_boot_id, process_pid')})`, '{{otelgc_gc_kind}}')),
];

const perCollection = (metric) => `${rate(metric, service, 'service_name')} / ${rate('otelgc_gc_promoted_bytes_count', service, 'service_name')}`;
// A machine is its boot id: in a container host_name may be the name of the pod.
const stolenShare = (by) => `${gap('sum', stolen, `${by}, otelgc_jitter_mode`)} / ${observed(`${by}, otelgc_jitter_mode`)}`;
const hint = [
  lines('Survivors against pause', 'A pause that grows with what survived is the heap. One that grows alone, while the grey area does, is the host: the CPU that others had on the worst host of these services.', 'bytes',
    query(perCollection('otelgc_gc_promoted_bytes_sum'), '{{service_name}} survived per collection'),
    query(perCollection('otelgc_gc_pause_duration_seconds_sum'), '{{service_name}} paused per collection'),
    query(`max(${stolenShare('otelgc_boot_id')} and on (otelgc_boot_id) group by (otelgc_boot_id) (otelgc_gc_pause_duration_seconds_count{${service}}))`, 'stolen CPU'))
    .overrideByRegexp('/paused/', [{ id: 'unit', value: 's' }, { id: 'custom.axisPlacement', value: 'right' }])
    .overrideByRegexp('/stolen/', [
      { id: 'unit', value: 'percentunit' }, { id: 'custom.axisPlacement', value: 'hidden' }, { id: 'min', value: 0 }, { id: 'max', value: 1 },
      { id: 'custom.fillOpacity', value: 30 }, { id: 'custom.lineWidth', value: 0 }, { id: 'color', value: { mode: FieldColorModeId.Fixed, fixedColor: '#7b8087' } }]),
  lines('Stolen CPU', 'The hint: share of the watched time in which others had the CPU (steal, throttled, preempted).', 'percentunit',
    query(stolenShare('otelgc_boot_id, host_name'), '{{host_name}} {{otelgc_jitter_mode}}')).min(0),
];

const outside = /^(host|runtime)[.]/; // the causes of gaps
const probes = 'otelgc_jitter_mode!="target"'; // that source watches a process, not a CPU
const jitter = [
  owned(area('Jitter by cause', 'Share of the time that the probes watched in which they did not run, by cause.', 'percentunit',
    query(`${gap('sum', `, ${probes}`, cause)} / on () group_left () (sum(rate(otelgc_jitter_observed_time_seconds_total{${probes}}[${window}])) > 0)`, `{{${cause}}}`)), outside),
  owned(lines('Gaps, p99 by cause', 'How long one gap in a hundred of the probes lasts.', 's',
    query(`histogram_quantile(0.99, ${gap('bucket', `, ${probes}`, `${cause}, le`)})`, `{{${cause}}}`)), outside),
];

const watch = [
  lines('Coverage', 'Share of the time each source watched, the worst of each kind. Of gotrace and gouprobe it is a budget.', 'percentunit',
    query('min by (host_name, otelgc_source) (otelgc_monitor_coverage_ratio)', '{{host_name}} {{otelgc_source}}')).min(0).max(1),
  area('Dropped', 'What was not kept, a second, by what and why.', 'cps',
    query(rate('otelgc_monitor_dropped_total', '', 'otelgc_item, error_type'), '{{otelgc_item}}: {{error_type}}'),
    query(rate('', own('events_dropped') + ', error_type!="duplicate"', 'error_type'), 'event at the Collector: {{error_type}}'),
    query(rate('', own('spans_unattributed'), 'error_type'), 'span not attributed: {{error_type}}')),
];

const board = new DashboardBuilder('otelgc: what stalls requests').uid('otelgc').tags(['otelgc', 'gc', 'latency'])
  .time({ from: 'now-1h', to: 'now' }).refresh('30s').timezone('browser').tooltip(DashboardCursorSync.Crosshair)
  .withVariable(new DatasourceVariableBuilder('datasource').type('prometheus'))
  .withVariable(new QueryVariableBuilder('service').label('Service').datasource(source)
    .query('label_values({__name__=~"otelgc_requests_total|otelgc_gc_pause_duration_seconds_count"}, service_name)')
    .refresh(VariableRefresh.OnTimeRangeChanged).multi(true).includeAll(true).allValue('.*')
    .current({ selected: true, text: 'All', value: '$__all' }));
let id = 0;
for (const [title, panels] of [['Who is to blame for p99', blame], ['Pauses', pauses], ['Survivors against pause, and stolen CPU', hint], ['The host', jitter], ['Who is watching', watch]]) {
  board.withRow(new RowBuilder(title).id(++id));
  panels.forEach((p) => board.withPanel(p.id(++id)));
}
const built = board.build();
// What only a variable of intervals has, the SDK writes into all of them.
for (const variable of built.templating.list) ['auto', 'auto_min', 'auto_count'].forEach((name) => delete variable[name]);
process.stdout.write(JSON.stringify(built, null, 2) + '\n');
