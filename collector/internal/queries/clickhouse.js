// Makes the tables of the Collector's ClickHouse exporter in an embedded
// ClickHouse, fills them from logs.jsonl and traces.jsonl, runs a file of SQL, then
// the questions on stdin as if it were soon after the last span, and prints what
// it says of the spans and how many rows each question has, as JSON.
'use strict';

const fs = require('fs');
const { Session } = require('chdb');

// The columns that the query reads, with the types that they have in
// clickhouseexporter v0.161.0 (internal/sqltemplates).
const tables = [
  `CREATE TABLE otel_logs (Timestamp DateTime64(9), EventName String,
     ResourceAttributes Map(LowCardinality(String), String), LogAttributes Map(LowCardinality(String), String))
   ENGINE = MergeTree ORDER BY Timestamp`,
  `CREATE TABLE otel_traces (Timestamp DateTime64(9), TraceId String, SpanId String, SpanName LowCardinality(String), ServiceName LowCardinality(String),
     ResourceAttributes Map(LowCardinality(String), String), Duration UInt64)
   ENGINE = MergeTree ORDER BY Timestamp`,
];

// asText is a value as the exporter writes it into a Map: an array as JSON.
function asText(value) {
  const [[kind, v]] = Object.entries(value);
  switch (kind) {
    case 'arrayValue': return `[${(v.values ?? []).map((e) => ('stringValue' in e ? JSON.stringify(e.stringValue) : asText(e))).join(',')}]`;
    case 'stringValue': case 'intValue': case 'doubleValue': case 'boolValue': return String(v);
    default: throw new Error(`a value of kind ${kind}`);
  }
}
const asMap = (attributes = []) => Object.fromEntries(attributes.map((a) => [a.key, asText(a.value)]));

// asTime is a time of nanoseconds, which a double cannot hold.
const asTime = (nanos) => `${nanos.slice(0, -9)}.${nanos.slice(-9)}`;

// between is a duration as the exporter has it: unsigned also where a span ends
// before it begins, or never.
const between = (start, end = '0') => String(BigInt.asUintN(64, BigInt(end) - BigInt(start)));

const lines = (file) => fs.readFileSync(file, 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line));

const logs = lines('logs.jsonl').flatMap((d) => d.resourceLogs)
  .flatMap((r) => r.scopeLogs.flatMap((s) => s.logRecords).map((l) => ({
    Timestamp: asTime(l.timeUnixNano), EventName: l.eventName ?? '',
    ResourceAttributes: asMap(r.resource.attributes), LogAttributes: asMap(l.attributes),
  })));
const traces = lines('traces.jsonl').flatMap((d) => d.resourceSpans)
  .flatMap((r) => r.scopeSpans.flatMap((s) => s.spans).map((s) => ({
    Timestamp: asTime(s.startTimeUnixNano), TraceId: s.traceId, SpanId: s.spanId, SpanName: s.name, ServiceName: asMap(r.resource.attributes)['service.name'] ?? '',
    ResourceAttributes: asMap(r.resource.attributes), Duration: between(s.startTimeUnixNano, s.endTimeUnixNano),
  })));

async function main() {
  const questions = JSON.parse(fs.readFileSync(0, 'utf8')); // all of stdin, or ClickHouse takes it for what is to be inserted
  const db = new Session();
  const rows = (sql) => JSON.parse(db.query(sql, 'JSON')).data;
  try {
    tables.forEach((statement) => db.query(statement));
    await db.insert({ table: 'otel_logs', values: logs });
    await db.insert({ table: 'otel_traces', values: traces });
    db.query(fs.readFileSync(process.argv[2], 'utf8'));
    const [{ now }] = rows('SELECT toString(toDateTime(max(Timestamp)) + INTERVAL 1 MINUTE) AS now FROM otel_traces');
    const answers = questions.map((q) => rows(q.replaceAll('now()', `toDateTime('${now}')`)).length);
    const view = `otelgc_spans(since = '2000-01-01 00:00:00', until = '2100-01-01 00:00:00')`;
    const spans = rows(`SELECT SpanId AS span_id, * FROM ${view}`);
    const charges = spans.flatMap((s) => Object.entries(s.charged).map(([owner, seconds]) => ({ span_id: s.span_id, owner, seconds })));
    process.stdout.write(JSON.stringify({ spans, charges, answers }));
  } finally {
    db.close();
  }
}

main().catch((e) => {
  process.stderr.write(`${e.message}\n`);
  process.exitCode = 1;
});
