-- What stalled each span, from the files that a Collector without the connector
-- writes (../../../collector-config.yaml). In the directory with traces.jsonl and
-- logs.jsonl, with DuckDB 1.3 or later:
--
--     duckdb -init .../collector/deploy/sql/duckdb.sql
--
-- Two tables come of it. `charges` has the time of each span by its owner, as
-- otelgc.stall.* of the connector: trace_id, span_id, owner, seconds. `joined` has
-- one row per span. docs/reference.md says what they hold, and what not.

-- One attribute of OTLP in JSON, and who a resource is: NULL is what it does not say.
CREATE OR REPLACE MACRO attr(attributes, name) AS list_filter(attributes, lambda a: a.key = name)[1].value;
CREATE OR REPLACE MACRO ints(attributes, name) AS list_transform(attr(attributes, name).arrayValue.values, lambda v: v.intValue);
-- Whether agents stamped what their sidecars sent (deploy/agent), and only that is
-- believed of a machine, as with `probes: stamped` of the connector: then true.
CREATE OR REPLACE MACRO agents() AS false;
-- A record overrides its resource, but for the machine, which an agent stamps there.
CREATE OR REPLACE MACRO identity(a, resource) AS {
  boot: coalesce(attr(resource, 'otelgc.boot.id').stringValue, attr(a, 'otelgc.boot.id').stringValue),
  stamped: agents() AND coalesce(attr(resource, 'otelgc.stamp').stringValue = 'sidecar', false), pid: attr(a, 'process.pid').intValue, created: attr(a, 'process.creation.time').stringValue,
  container: attr(a, 'container.id').stringValue, pod: attr(a, 'k8s.pod.uid').stringValue, name: attr(a, 'k8s.container.name').stringValue,
  instance: attr(a, 'service.instance.id').stringValue, host_id: attr(a, 'host.id').stringValue, host_name: attr(a, 'host.name').stringValue,
  service: CASE WHEN NOT starts_with(attr(a, 'service.name').stringValue, 'unknown_service') THEN attr(a, 'service.name').stringValue END};
CREATE OR REPLACE MACRO speaks(i) AS NOT agents() OR i.stamped; -- for its machine

-- 1. Events, and what sources said of themselves once a second: how far they had
--    seen, what they had not, and the wall clock against CLOCK_MONOTONIC. As in the
--    connector, what tells times that cannot be, here and in 7, is not taken.

CREATE OR REPLACE TEMP TABLE events AS
SELECT r.eventName AS event, r.attributes AS a, identity(list_concat(r.attributes, rl.resource.attributes), rl.resource.attributes) AS id, struct_extract(id, 'boot') AS boot,
       attr(a, 'otelgc.source').stringValue AS source, attr(a, 'otelgc.start').intValue AS "start", attr(a, 'otelgc.end').intValue AS "end"
FROM (SELECT unnest(resourceLogs) AS rl FROM read_json('logs*.jsonl', format = 'newline_delimited', columns = {resourceLogs:
       'STRUCT(resource STRUCT(attributes STRUCT("key" VARCHAR, "value" STRUCT(stringValue VARCHAR, intValue BIGINT, arrayValue STRUCT("values" STRUCT(intValue BIGINT)[])))[]),
         scopeLogs STRUCT(logRecords STRUCT(eventName VARCHAR,
           attributes STRUCT("key" VARCHAR, "value" STRUCT(stringValue VARCHAR, intValue BIGINT, arrayValue STRUCT("values" STRUCT(intValue BIGINT)[])))[])[])[])[]'})),
     unnest(rl.scopeLogs) AS s(sl), unnest(sl.logRecords) AS l(r) WHERE boot <> '';

CREATE OR REPLACE TEMP TABLE status AS
SELECT id, boot, source, source LIKE 'probe.%' AND speaks(id) AS probe, "start", "end", coalesce(attr(a, 'otelgc.watermark').intValue, 0) AS watermark, attr(a, 'otelgc.target.pid').intValue AS target,
       ints(a, 'otelgc.cgroup.ids') AS cgroups,
       attr(a, 'otelgc.wall.offset').intValue AS wall_offset, coalesce(attr(a, 'otelgc.wall.error').intValue, 0) AS wall_error,
       ints(a, 'otelgc.unseen.start') AS unseen_start, ints(a, 'otelgc.unseen.end') AS unseen_end
FROM events WHERE event = 'otelgc.source.status' AND "end" BETWEEN 1 AND 1_152_921_504_606_846_975
  AND coalesce("start", 0) BETWEEN 0 AND "end" AND watermark BETWEEN 0 AND "end"
  AND wall_offset BETWEEN -2_305_843_009_213_693_951 AND 2_305_843_009_213_693_951 AND wall_error BETWEEN 0 AND 60_000_000_000
  AND coalesce(len(list_filter(list_zip(unseen_start, unseen_end),
    lambda u: coalesce(u[1] < 0 OR u[2] NOT BETWEEN u[1] AND 1_152_921_504_606_846_975, true))), 0) = 0;

-- 2. Who was watched: processes by their runtimes, machines by their probes. Each
--    was heard from its first status to its last, and for 3 s after.

CREATE OR REPLACE TEMP TABLE known AS
SELECT row_number() OVER () AS number, id, probe AS machine, any_value(boot) AS boot, max(target) AS target, arg_max(cgroups, "end") AS cgroups,
       bool_or(source IN ('gcwatch', 'gotrace')) AS itself,
       min(coalesce("start", "end") + wall_offset) AS first_heard, max("end" + wall_offset) + 3_000_000_000 AS last_heard
FROM status WHERE source <> 'target' GROUP BY id, machine;

-- 3. Spans, on the wall clock, each once. Times are any of 64 bits; one that ends
--    before it begins, or claims more than a week, is of no length, as in the
--    connector.

CREATE OR REPLACE MACRO wall(nanos) AS least(coalesce(nanos, 0), 4_611_686_018_427_387_903) :: BIGINT;

CREATE OR REPLACE TEMP TABLE spans AS
SELECT DISTINCT ON (trace_id, span_id) row_number() OVER () AS span, identity(rs.resource.attributes, list_filter(rs.resource.attributes, lambda a: a.key = 'otelgc.boot.id')) AS id,
       attr(rs.resource.attributes, 'service.name').stringValue AS service,
       sp.traceId AS trace_id, sp.spanId AS span_id, sp.name, wall(sp.startTimeUnixNano) AS wall_start,
       CASE WHEN wall(sp.endTimeUnixNano) - wall_start BETWEEN 0 AND 604_800_000_000_000 THEN wall(sp.endTimeUnixNano) ELSE wall_start END AS wall_end,
       wall(sp.endTimeUnixNano) - wall_start NOT BETWEEN 0 AND 604_800_000_000_000 AS odd
FROM (SELECT unnest(resourceSpans) AS rs FROM read_json('traces*.jsonl', format = 'newline_delimited', columns = {resourceSpans:
       'STRUCT(resource STRUCT(attributes STRUCT("key" VARCHAR, "value" STRUCT(stringValue VARCHAR, intValue BIGINT, arrayValue STRUCT("values" STRUCT(intValue BIGINT)[])))[]),
         scopeSpans STRUCT(spans STRUCT(traceId VARCHAR, spanId VARCHAR, name VARCHAR, startTimeUnixNano UBIGINT, endTimeUnixNano UBIGINT)[])[])[]'})),
     unnest(rs.scopeSpans) AS s(ss), unnest(ss.spans) AS l(sp);

-- 4. Whose they are. Both have names, the surest first, and the first that leads
--    to anybody counts; if it leads to several who were heard then, the span is of
--    none. A pid in a container proves nothing alone; what contradicts is another
--    process, and so are other names than those of one that tells of itself. Of one
--    that nobody watches the machine may be known. `target` is what a sidecar knows
--    it by: the pid that its source told, else its own.

CREATE OR REPLACE MACRO names(i) AS [
  i.boot || ' pid ' || i.pid, 'container ' || i.container, 'pod ' || i.pod || ' ' || coalesce(i.name, ''),
  i.host_id || ' pid ' || i.pid, i.host_name || ' pid ' || i.pid, i.host_id, i.host_name];
CREATE OR REPLACE MACRO contained(i) AS i.container IS NOT NULL OR i.pod IS NOT NULL OR coalesce(i.pid = 1, false);
CREATE OR REPLACE MACRO proven(s, p) AS
  coalesce(s.created = p.created OR s.instance = p.instance OR s.container = p.container OR s.pod = p.pod AND s.name IS NOT DISTINCT FROM p.name, false);
CREATE OR REPLACE MACRO differ(s, p) AS
  coalesce(s.boot <> p.boot, false) OR coalesce(s.pid <> p.pid, false) OR coalesce(s.container <> p.container, false) OR coalesce(s.pod <> p.pod, false)
  OR coalesce(s.name <> p.name, false) OR coalesce(s.instance <> p.instance, false)
  OR coalesce(abs(epoch_ms(try_cast(s.created AS TIMESTAMP)) - epoch_ms(try_cast(p.created AS TIMESTAMP))) > 2000, false);

CREATE OR REPLACE MACRO strange(s, p) AS coalesce(s.host_id <> p.host_id, false) OR coalesce(s.host_name <> p.host_name, false) OR coalesce(s.service <> p.service, false);

CREATE OR REPLACE TEMP TABLE found AS
WITH asked AS (
  SELECT *, unnest(range(1, 8)) AS way, unnest(names(id)) AS who FROM spans
), called AS (
  SELECT *, unnest(range(1, 8)) AS way, unnest(names(id)) AS who FROM known
), candidates AS (
  -- The sidecar's word of a process goes before what says the same without a stamp.
  SELECT CASE WHEN k.id.stamped AND NOT machine THEN way ELSE 10 + way END AS way, s.span, k.boot, k.cgroups, CASE WHEN NOT machine THEN k.number END AS process,
         CASE WHEN NOT machine THEN {pid: coalesce(k.target, k.id.pid), created: k.id.created,
           inside: k.target IS NULL AND (contained(s.id) OR contained(k.id)), host: CASE WHEN k.target IS NULL THEN k.id.host_name END} END AS target
  FROM asked s JOIN called k USING (way, who)
  WHERE (way = 1 OR s.id.boot IS NULL OR way < 4 AND s.id.pid IS NULL) AND machine = (way > 5)
    AND s.wall_start <= k.last_heard AND s.wall_end >= k.first_heard
    AND (machine OR NOT differ(s.id, k.id) AND (way IN (2, 3) OR proven(s.id, k.id)
      OR NOT contained(s.id) AND NOT contained(k.id) AND coalesce(k.target = k.id.pid, true) AND NOT (itself AND strange(s.id, k.id))))
)
SELECT span, any_value(process) AS process, any_value(boot) AS boot, any_value(target) AS target, any_value(cgroups) AS cgroups FROM candidates
GROUP BY span, way QUALIFY way = min(way) OVER (PARTITION BY span) AND count(DISTINCT coalesce(process :: VARCHAR, boot)) = 1;

-- 5. Spans on CLOCK_MONOTONIC, by the last status of their process before them, or
--    of their machine's probes if nobody watches it,
--    and how far they may be off there: a wall clock may run away by 100 ppm while
--    nobody looks, and be set between two looks. So it seems where two tell different
--    clocks: then nothing is certain.

CREATE OR REPLACE TEMP TABLE clocks AS
WITH heard AS (
  SELECT 'process ' || number AS teller, s.* FROM status s JOIN known k ON k.id = s.id AND NOT k.machine AND NOT probe AND source <> 'target'
  UNION ALL SELECT boot, * FROM status WHERE probe OR source = 'target' AND speaks(id)
), told AS ( -- several sources of one sender tell at once
  SELECT teller, "end", arg_min(wall_offset, wall_error) AS wall_offset, min(wall_error) AS wall_error FROM heard GROUP BY ALL
)
SELECT teller, "end" AS told, wall_offset, wall_error, CASE WHEN lag("end") OVER clock IS NULL THEN 0 ELSE "end" + wall_offset END AS shows,
       abs(lead(wall_offset, 1, wall_offset) OVER clock - wall_offset) AS moves,
       lead("end", 1, "end") OVER clock AS until,
       CASE WHEN moves > wall_error + lead(wall_error, 1, 0) OVER clock THEN moves ELSE 0 END AS step
FROM told WINDOW clock AS (PARTITION BY teller ORDER BY "end");

CREATE OR REPLACE TEMP TABLE placed AS
WITH whose AS (
  SELECT s.*, coalesce(f.boot, s.id.boot) AS boot, coalesce('process ' || process, f.boot, s.id.boot) AS teller, process, cgroups, coalesce(target, {pid: s.id.pid, created: s.id.created, inside: contained(s.id), host: s.id.host_name}) AS target
  FROM spans s LEFT JOIN found f USING (span)
)
SELECT s.span, s.boot, process, target, cgroups, wall_start - wall_offset AS "start", wall_end - wall_offset AS "end", greatest(told - "start", "start" - until) AS away,
       greatest(step, wall_error + CASE WHEN away > 1_000_000_000 THEN away // 10_000 ELSE 0 END) AS slack
FROM whose s ASOF JOIN clocks c ON s.teller = c.teller AND s.wall_start >= c.shows;

-- 6. What the runtime's sources saw: from their first watermark to their last, but
--    for what they say that they did not, and for what they said in a status that
--    is missing: each begins where the one before it ended.

CREATE OR REPLACE TEMP TABLE seen AS
WITH told AS (
  SELECT number AS process, source, "start", "end", watermark, unseen_start, unseen_end, lag("end") OVER told AS before, coalesce(lag(watermark) OVER told, 0) AS seen_before
  FROM status JOIN known USING (id) WHERE NOT machine AND source IN ('gcwatch', 'gotrace', 'gouprobe', 'dotnet') AND watermark > 0
  WINDOW told AS (PARTITION BY number, source ORDER BY status."end")
), unseen AS (
  SELECT process, source, u_start AS "start", least(u_end, "end") AS "end" FROM (SELECT *, unnest(unseen_start) AS u_start, unnest(unseen_end) AS u_end FROM told)
  UNION ALL SELECT process, source, seen_before, "start" FROM told WHERE "start" > before
  UNION ALL SELECT process, source, 0, min(watermark) FROM told GROUP BY ALL
  UNION ALL SELECT process, source, max(watermark), 9_223_372_036_854_775_807 FROM told GROUP BY ALL
)
SELECT process, dark AS "start", light AS "end" FROM (
  SELECT process, max("end") OVER dark AS dark, lead("start") OVER dark AS light FROM unseen WINDOW dark AS (PARTITION BY process, source ORDER BY "start", "end"))
WHERE dark < light;

-- 7. Stalls, what was told twice once. `whose` is who suffers them: a process its
--    own stops, the threads of a pid what the machine did to them, a cgroup what was
--    done to all in it, a machine what all its CPUs had in common. A gap of one CPU
--    is nobody's: no span says on which CPU it ran. Where two meet, the lower rank
--    has the time. What was seen is laid over spans too, and owns nothing.

CREATE OR REPLACE TEMP TABLE stretches AS
WITH told AS (
  SELECT event, source, a, id, boot, event = 'otelgc.gc.collection' AS several,
         CASE WHEN several THEN ints(a, 'otelgc.pause.start') ELSE ["start"] END AS starts,
         CASE WHEN several THEN ints(a, 'otelgc.pause.end') ELSE ["end"] END AS ends,
         CASE WHEN several THEN ints(a, 'otelgc.pause.slack') ELSE [attr(a, 'otelgc.slack').intValue] END AS slacks,
         CASE WHEN several AND source = 'dotnet' THEN ints(a, 'otelgc.pause.end_max') END AS mosts,
         list_zip(starts, ends, list_resize(coalesce(slacks, []), len(starts)), list_resize(coalesce(mosts, []), len(starts))) AS parts
  FROM events WHERE event IN ('otelgc.gc.collection', 'otelgc.suspension', 'otelgc.jitter.gap')
)
SELECT event, source, a, id, boot, part[1] AS "start", part[2] AS "end", coalesce(part[3], 0) AS slack, greatest(part[2], coalesce(part[4], 0)) AS most
FROM (SELECT *, unnest(parts) AS part FROM told WHERE len(parts) = len(list_filter(parts, lambda p: p[1] > 0 AND p[2] >= p[1]
        AND greatest(p[2], coalesce(p[4], 0)) <= least(p[1], 1_152_917_904_606_846_975) + 3_600_000_000_000 -- which cannot overflow
        AND coalesce(p[3], 0) BETWEEN 0 AND 60_000_000_000)));

CREATE OR REPLACE TEMP TABLE stalls AS
SELECT DISTINCT 'process ' || number AS whose, 'gc.pause' AS owner, 1 AS rank, "start", "end", slack, NULL AS teller, NULL AS born, NULL AS host
FROM stretches JOIN known USING (id) WHERE event = 'otelgc.gc.collection' AND NOT machine
UNION ALL -- a stop of .NET may have lasted up to where all threads ran again
SELECT DISTINCT 'process ' || number, 'uncertain', 90, "end", most, 0, NULL, NULL, NULL
FROM stretches JOIN known USING (id) WHERE most > "end" AND NOT machine
UNION ALL
SELECT DISTINCT 'process ' || number, 'runtime.suspension', 2, "start", "end", slack, NULL, NULL, NULL
FROM stretches JOIN known USING (id) WHERE event = 'otelgc.suspension' AND NOT machine
UNION ALL
SELECT DISTINCT CASE WHEN NOT speaks(id) THEN 'process ' || number WHEN scope = 'target' THEN boot || ' pid ' || attr(a, 'otelgc.target.pid').intValue
                     WHEN scope = 'cgroup' THEN boot || ' cgroup ' || attr(a, 'otelgc.cgroup.id').intValue ELSE boot END, cause,
       CASE scope WHEN 'target' THEN 10 ELSE 20 END + list_position(['host.throttled', 'host.preempted', 'host.irq', 'host.steal',
         'host.irq_or_steal', 'host.fault', 'host.suspended', 'host.unknown'], cause), "start", "end", slack,
       CASE scope WHEN 'cgroup' THEN id END, -- a probe in a service has stopped with what it tells of
       CASE scope WHEN 'target' THEN greatest(attr(a, 'otelgc.target.created').intValue, 0) END, CASE scope WHEN 'target' THEN id.host_name END
FROM (SELECT *, attr(a, 'otelgc.cause').stringValue AS cause, attr(a, 'otelgc.jitter.scope').stringValue AS scope
      FROM stretches WHERE event = 'otelgc.jitter.gap') LEFT JOIN (SELECT id, number FROM known WHERE NOT machine) USING (id)
WHERE (scope IN ('target', 'cgroup') AND speaks(id) OR scope = 'machine' AND (source LIKE 'probe.%' OR speaks(id))) AND cause LIKE 'host.%'
UNION ALL
SELECT 'process ' || process, 'seen', 99, "start", "end", 0, NULL, NULL, NULL FROM seen;

-- 8. The join. A stall lies somewhere within its slack and the span's. Where all
--    those places are in the span it counts whole, otherwise what it covers in each
--    of them; the rest of it is uncertain. So marks are laid over a span, it is cut
--    wherever one begins or ends, and each piece has one owner. A pid may have been
--    another's: of the creation times one is in ticks of 10 ms since the boot, which
--    is a whole second in both, so what is left of a second tells them apart. For
--    a process in a container, as one is that has another name for its host than
--    the sidecar, they have to agree.

CREATE OR REPLACE TEMP TABLE marks AS
WITH suffers AS (
  SELECT *, unnest(list_concat(['process ' || process, boot || ' pid ' || target.pid, boot], list_transform(cgroups, lambda c: boot || ' cgroup ' || c))) AS whose,
         epoch_ms(try_cast(target.created AS TIMESTAMP)) // 10 % 100 AS ticks
  FROM placed
), hits AS (
  SELECT span, s.start AS s_start, s.end AS s_end, owner, rank, t.start, t.end, CASE WHEN rank < 99 THEN s.slack + t.slack ELSE 0 END AS slack
  FROM suffers s LEFT JOIN known k ON k.number = s.process
    JOIN stalls t ON t.whose = s.whose AND t.start - t.slack - s.slack < s.end AND t.end + t.slack + s.slack > s.start
  WHERE coalesce(t.teller <> k.id, true)
    AND CASE WHEN born IS NULL THEN true WHEN born = 0 OR s.target.created IS NULL THEN NOT (s.target.inside OR coalesce(s.target.host <> t.host, false)) ELSE coalesce(ticks = born % 100, true) END
), laid AS (
  SELECT span, s_start, s_end, owner, rank, "start" + inside AS "start", "end" - inside AS "end"
  FROM (SELECT *, CASE WHEN "start" - slack >= s_start AND "end" + slack <= s_end THEN 0 ELSE slack END AS inside FROM hits)
  UNION ALL
  SELECT span, s_start, s_end, 'uncertain', 90, "start", "end" FROM hits WHERE slack > 0
)
SELECT span, owner, rank, greatest("start", s_start) AS "start", least("end", s_end) AS "end"
FROM laid WHERE greatest("start", s_start) < least("end", s_end);

CREATE OR REPLACE TEMP TABLE pieces AS
WITH cuts AS (
  SELECT span, unnest(["start", "end"]) AS edge FROM marks UNION SELECT span, unnest(["start", "end"]) FROM placed
)
SELECT span, edge AS "start", lead(edge) OVER (PARTITION BY span ORDER BY edge) AS "end" FROM cuts QUALIFY "end" IS NOT NULL;

CREATE OR REPLACE TEMP TABLE owned AS
SELECT p.span, p.end - p.start AS length, coalesce(arg_min(m.owner, m.rank) FILTER (m.rank < 99), 'unseen') AS owner,
       coalesce(bool_or(m.owner = 'seen'), false) AS seen
FROM pieces p LEFT JOIN marks m ON m.span = p.span AND m.start <= p.start AND m.end >= p.end
GROUP BY p.span, p.start, p.end;

CREATE OR REPLACE TABLE charges AS
SELECT trace_id, span_id, coalesce(owner, 'unseen') AS owner, sum(coalesce(length, wall_end - wall_start)) / 1e9 AS seconds
FROM spans LEFT JOIN owned USING (span) GROUP BY ALL HAVING seconds > 0;

CREATE OR REPLACE TABLE joined AS
SELECT trace_id, span_id, any_value(service) AS service, any_value(name) AS name, any_value(wall_end - wall_start) / 1e9 AS duration,
       coalesce(sum(length) FILTER (owner = 'gc.pause'), 0) / 1e9 AS gc_pause,
       coalesce(sum(length) FILTER (owner = 'runtime.suspension'), 0) / 1e9 AS suspension,
       coalesce(sum(length) FILTER (owner LIKE 'host.%'), 0) / 1e9 AS host,
       coalesce(sum(length) FILTER (owner = 'uncertain'), 0) / 1e9 AS uncertain,
       duration - gc_pause - suspension - host - uncertain AS unseen,
       CASE WHEN duration = 0 THEN bool_and(process IS NOT NULL AND NOT odd) :: INTEGER ELSE coalesce(sum(length) FILTER (seen) / sum(length), 0) END AS coverage
FROM spans LEFT JOIN owned USING (span) LEFT JOIN found USING (span) GROUP BY ALL;
