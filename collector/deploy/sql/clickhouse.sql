-- What stalled each span, from the tables of the Collector's ClickHouse exporter
-- with `json: false`, its default. A view for the spans between two times:
--
--     SELECT * FROM otelgc_spans(since = now() - INTERVAL 1 HOUR, until = now()) ORDER BY duration DESC LIMIT 20;
--
-- `charged` has the time of a span by its owner, as otelgc.stall.* of the
-- connector, in seconds. docs/reference.md says what the columns hold, and what
-- not. The steps are those of duckdb.sql, which says more of why.

CREATE OR REPLACE VIEW otelgc_spans AS
WITH
-- Whether agents stamped what their sidecars sent, and only that is believed of a
-- machine, as with `probes: stamped` of the connector: then true.
false AS agents,
-- 1. Events, and what sources said of themselves once a second. Who they are about
-- has '' for what is not said. Arrays are text in these tables. What tells times
-- that cannot be, here and in 7, is not taken.
events AS (
  SELECT EventName AS event, LogAttributes AS a, a['otelgc.source'] AS source, toInt64OrZero(a['otelgc.slack']) AS slack,
         toInt64OrZero(a['otelgc.start']) AS since, toInt64OrZero(a['otelgc.end']) AS at, toInt32OrZero(a['otelgc.target.pid']) AS target,
         if(ResourceAttributes['otelgc.boot.id'] != '', ResourceAttributes['otelgc.boot.id'], a['otelgc.boot.id']) AS boot,
         agents AND ResourceAttributes['otelgc.stamp'] = 'sidecar' AS stamped, NOT agents OR stamped AS speaks, startsWith(source, 'probe.') AND speaks AS probe, a['process.pid'] AS pid, ResourceAttributes['process.creation.time'] AS created,
         ResourceAttributes['container.id'] AS container, ResourceAttributes['k8s.pod.uid'] AS pod, ResourceAttributes['k8s.container.name'] AS name,
         ResourceAttributes['service.instance.id'] AS instance, ResourceAttributes['host.id'] AS host_id, ResourceAttributes['host.name'] AS host_name,
         if(startsWith(ResourceAttributes['service.name'], 'unknown_service'), '', ResourceAttributes['service.name']) AS service,
         cityHash64(boot, pid, created, container, pod, name, instance, host_id, host_name, service, stamped) AS number
  FROM otel_logs
  WHERE startsWith(EventName, 'otelgc.') AND boot != '' AND Timestamp BETWEEN {since:DateTime} - INTERVAL 10 MINUTE AND {until:DateTime} + INTERVAL 10 MINUTE
), status AS (
  SELECT *, toInt64OrZero(a['otelgc.watermark']) AS watermark,
         toInt64OrZero(a['otelgc.wall.offset']) AS wall_offset, toInt64OrZero(a['otelgc.wall.error']) AS wall_error,
         JSONExtract(a['otelgc.cgroup.ids'], 'Array(Int64)') AS cgroups,
         JSONExtract(a['otelgc.unseen.start'], 'Array(Int64)') AS unseen_start, JSONExtract(a['otelgc.unseen.end'], 'Array(Int64)') AS unseen_end,
         arrayZip(unseen_start, arrayResize(unseen_end, length(unseen_start))) AS unseen
  FROM events WHERE event = 'otelgc.source.status' AND at BETWEEN 1 AND 1152921504606846975 AND since BETWEEN 0 AND at AND watermark BETWEEN 0 AND at
    AND wall_offset != 0 AND wall_offset BETWEEN -2305843009213693951 AND 2305843009213693951 AND wall_error BETWEEN 0 AND 60000000000
    AND length(unseen_start) = length(unseen_end) AND arrayAll(u -> u.1 >= 0 AND u.2 BETWEEN u.1 AND 1152921504606846975, unseen)
),
-- 2. Who was watched: processes by their runtimes, machines by their probes. Both
-- have names by which they are found, the surest first, in 4.
known AS (
  SELECT number, probe AS machine, any(stamped) AS k_stamped, any(boot) AS k_boot, any(pid) AS k_pid, any(created) AS k_created, any(container) AS k_container,
         any(pod) AS k_pod, any(name) AS k_name, any(instance) AS k_instance, any(host_id) AS k_host_id, any(host_name) AS k_host_name,
         any(service) AS k_service, max(source IN ('gcwatch', 'gotrace')) AS itself, max(target) AS k_target, argMax(cgroups, at) AS k_cgroups,
         k_container != '' OR k_pod != '' OR k_pid = '1' AS k_contained,
         min(if(since = 0, at, since) + wall_offset) AS first_heard, max(at + wall_offset) + 3000000000 AS last_heard,
         if(machine, ['', '', '', '', '', k_host_id, k_host_name], [concat(k_boot, ' pid ', k_pid), concat('container ', k_container),
           concat('pod ', k_pod, ' ', k_name), concat(k_host_id, ' pid ', k_pid), concat(k_host_name, ' pid ', k_pid)]) AS names
  FROM status WHERE source != 'target' GROUP BY number, machine
),
-- 3. Spans, on the wall clock, each once. One that ends before it begins, or
-- claims more than a week, is of no length.
spans AS (
  SELECT cityHash64(TraceId, SpanId) AS span, TraceId, SpanId, ServiceName, SpanName,
         toUnixTimestamp64Nano(Timestamp) AS wall_start, Duration > 604800000000000 AS odd, if(odd, 0, toInt64(Duration)) AS length, ResourceAttributes AS r,
         r['otelgc.boot.id'] AS s_boot, r['process.pid'] AS s_pid, r['process.creation.time'] AS s_created, r['container.id'] AS s_container,
         r['k8s.pod.uid'] AS s_pod, r['k8s.container.name'] AS s_name, r['service.instance.id'] AS s_instance, r['host.id'] AS s_host_id,
         r['host.name'] AS s_host_name, if(startsWith(ServiceName, 'unknown_service'), '', ServiceName) AS s_service, s_container != '' OR s_pod != '' OR s_pid = '1' AS s_contained
  FROM otel_traces WHERE Timestamp BETWEEN {since:DateTime} AND {until:DateTime} LIMIT 1 BY TraceId, SpanId
),
-- 4. Whose they are: the first name that leads to anybody counts, and if it leads
-- to several who were heard then, the span is of none. A pid in a container proves
-- nothing alone; what contradicts is another process, and so are other names than
-- those of one that tells of itself. Of one that nobody watches the machine may be
-- known. The target is what a sidecar knows it by: pid, when it was created, whether
-- only that proves it, and what the process calls its host.
asked AS (
  SELECT *, s_boot != '' AND s_pid != '' AS sure, way, who FROM spans
  ARRAY JOIN [if(sure, concat(s_boot, ' pid ', s_pid), ''), if(NOT sure AND s_container != '', concat('container ', s_container), ''),
    if(NOT sure AND s_pod != '', concat('pod ', s_pod, ' ', s_name), ''), if(s_boot = '' AND s_pid != '' AND s_host_id != '', concat(s_host_id, ' pid ', s_pid), ''),
    if(s_boot = '' AND s_pid != '' AND s_host_name != '', concat(s_host_name, ' pid ', s_pid), ''), if(s_boot = '', s_host_id, ''), if(s_boot = '', s_host_name, '')] AS who,
    [1, 2, 3, 4, 5, 6, 7] AS way
), called AS (
  SELECT *, way, who FROM known ARRAY JOIN names AS who, arrayEnumerate(names) AS way
), candidates AS (
  SELECT s.way + if(k_stamped AND NOT machine, 0, 10) AS way, span, k_boot, k_cgroups, if(machine, 0, number) AS process,
         (if(k_target != 0, k_target, toInt32OrZero(k_pid)), k_created, k_target = 0 AND (s_contained OR k_contained), if(k_target = 0, k_host_name, '')) AS f_target
  FROM asked AS s JOIN called AS k ON s.who = k.who AND s.way = k.way
  WHERE s.who != '' AND wall_start <= last_heard AND wall_start + length >= first_heard AND (machine
    OR (s.way IN (2, 3) OR NOT s_contained AND NOT k_contained AND (k_target = 0 OR toString(k_target) = k_pid)
        AND NOT (itself AND (s_host_id != '' AND k_host_id != '' AND s_host_id != k_host_id OR s_host_name != '' AND k_host_name != '' AND s_host_name != k_host_name
          OR s_service != '' AND k_service != '' AND s_service != k_service)) OR s_created != '' AND s_created = k_created OR s_instance != '' AND s_instance = k_instance
      OR s_container != '' AND s_container = k_container OR s_pod != '' AND s_pod = k_pod AND s_name = k_name)
    AND (s_boot = '' OR k_boot = '' OR s_boot = k_boot) AND (s_pid = '' OR k_pid = '' OR s_pid = k_pid)
    AND (s_container = '' OR k_container = '' OR s_container = k_container) AND (s_pod = '' OR k_pod = '' OR s_pod = k_pod)
    AND (s_name = '' OR k_name = '' OR s_name = k_name) AND (s_instance = '' OR k_instance = '' OR s_instance = k_instance)
    AND ifNull(abs(dateDiff('ms', parseDateTime64BestEffortOrNull(s_created, 3), parseDateTime64BestEffortOrNull(k_created, 3))) <= 2000, 1))
), found AS (
  SELECT span, process, f_boot, f_target, f_cgroups FROM (
    SELECT span, way, any(c.process) AS process, any(k_boot) AS f_boot, any(c.f_target) AS f_target, any(k_cgroups) AS f_cgroups,
           uniqExact(if(c.process = 0, k_boot, toString(c.process))) AS several
    FROM candidates AS c GROUP BY span, way ORDER BY way LIMIT 1 BY span)
  WHERE several = 1
),
-- 5. Spans on CLOCK_MONOTONIC, by the last status of their process before them, or of
-- their machine's probes if nobody watches it, and how far they may be off there.
heard AS (
  SELECT c_teller, at, argMin(offset, error) AS wall_offset, min(error) AS wall_error FROM (
    SELECT concat('process ', toString(number)) AS c_teller, at, wall_offset AS offset, wall_error AS error FROM status WHERE NOT probe AND source != 'target'
    UNION ALL SELECT boot, at, wall_offset, wall_error FROM status WHERE probe OR source = 'target' AND speaks)
  GROUP BY c_teller, at -- several sources of one sender tell at once
), clocks AS (
  SELECT c_teller, at AS c_at, leadInFrame(at, 1, at) OVER w AS c_until, wall_offset, wall_error, if(row_number() OVER w = 1, 0, at + wall_offset) AS shows,
         abs(leadInFrame(wall_offset, 1, wall_offset) OVER w - wall_offset) AS moves,
         if(moves > wall_error + leadInFrame(wall_error) OVER w, moves, 0) AS step
  FROM heard WINDOW w AS (PARTITION BY c_teller ORDER BY at ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
), placed AS (
  SELECT span, boot, process, target, cgroups, wall_start - wall_offset AS s_start, s_start + length AS s_end,
         greatest(step, wall_error + if(greatest(c_at - s_start, s_start - c_until) > 1000000000, intDiv(greatest(c_at - s_start, s_start - c_until), 10000), 0)) AS s_slack
  FROM (SELECT span, wall_start, length, if(f.f_boot = '', s_boot, f.f_boot) AS boot,
               if(f.process = 0, boot, concat('process ', toString(f.process))) AS teller, f.process AS process, f.f_cgroups AS cgroups,
               if(f.process = 0, (toInt32OrZero(s_pid), s_created, s_contained, s_host_name), f.f_target) AS target
        FROM spans AS s LEFT JOIN found AS f USING (span)) AS whose
  ASOF JOIN clocks AS c ON whose.teller = c.c_teller AND whose.wall_start >= c.shows
),
-- 6. What the runtime's sources saw: from their first watermark to their last, but
-- for what they say that they did not, and for a status that is missing.
told AS (
  SELECT number, source, arrayConcat(arrayMap(u -> (u.1, least(u.2, at)), unseen), [(toInt64(0), min(watermark) OVER w), (max(watermark) OVER w, 9223372036854775807)],
           if(since > lagInFrame(at, 1, since) OVER w, [(lagInFrame(watermark) OVER w, since)], [])) AS unseen
  FROM status WHERE source IN ('gcwatch', 'gotrace', 'gouprobe', 'dotnet') AND watermark > 0
  WINDOW w AS (PARTITION BY number, source ORDER BY at ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
), seen AS (
  SELECT number, max(u.2) OVER (w ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS dark,
         leadInFrame(u.1) OVER (w ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS light
  FROM told ARRAY JOIN unseen AS u WINDOW w AS (PARTITION BY number, source ORDER BY u)
),
-- 7. Stalls, what was told twice once, and who suffers them: a process, the threads
-- of a pid, all in a cgroup, a whole machine. Where two meet, the lower rank has
-- the time. What was seen is laid over spans too, and owns nothing.
stretches AS (
  SELECT *, part.1 AS t_start, part.2 AS t_end, part.3 AS t_slack, greatest(part.2, part.4) AS t_most
  FROM (SELECT *, event = 'otelgc.gc.collection' AS several,
               if(several, JSONExtract(a['otelgc.pause.start'], 'Array(Int64)'), [since]) AS starts,
               if(several, JSONExtract(a['otelgc.pause.end'], 'Array(Int64)'), [at]) AS ends,
               if(several, JSONExtract(a['otelgc.pause.slack'], 'Array(Int64)'), [slack]) AS slacks,
               if(several AND source = 'dotnet', JSONExtract(a['otelgc.pause.end_max'], 'Array(Int64)'), []) AS mosts,
               arrayZip(starts, arrayResize(ends, length(starts)), arrayResize(slacks, length(starts)), arrayResize(mosts, length(starts))) AS parts
        FROM events WHERE event IN ('otelgc.gc.collection', 'otelgc.suspension', 'otelgc.jitter.gap'))
  ARRAY JOIN parts AS part
  WHERE length(starts) = length(ends)
    AND arrayAll(p -> p.1 > 0 AND p.2 >= p.1 AND greatest(p.2, p.4) <= 1152921504606846975 AND greatest(p.2, p.4) - p.1 <= 3600000000000 AND p.3 BETWEEN 0 AND 60000000000, parts)
), stalls AS (
  SELECT DISTINCT concat('process ', toString(number)) AS whose, 'gc.pause' AS owner, 1 AS rank, t_start, t_end, t_slack,
         toUInt64(0) AS teller, -- a probe in a service has stopped with what it tells of its cgroup
         toInt64(-1) AS born, -- of a target, 0 if that was not told
         '' AS host -- as who tells of a target calls it
  FROM stretches WHERE event = 'otelgc.gc.collection'
  UNION ALL
  SELECT DISTINCT concat('process ', toString(number)), 'uncertain', 90, t_end, t_most, 0, 0, -1, '' FROM stretches WHERE t_most > t_end -- of .NET
  UNION ALL
  SELECT DISTINCT concat('process ', toString(number)), 'runtime.suspension', 2, t_start, t_end, t_slack, 0, -1, '' FROM stretches WHERE event = 'otelgc.suspension'
  UNION ALL
  SELECT DISTINCT multiIf(NOT speaks, concat('process ', toString(number)), scope = 'target', concat(boot, ' pid ', toString(target)), scope = 'cgroup', concat(boot, ' cgroup ', a['otelgc.cgroup.id']), boot),
         a['otelgc.cause'] AS cause, if(scope = 'target', 10, 20) + indexOf(['host.throttled', 'host.preempted', 'host.irq', 'host.steal',
           'host.irq_or_steal', 'host.fault', 'host.suspended', 'host.unknown'], cause), t_start, t_end, t_slack, if(scope = 'cgroup', number, 0),
         if(scope = 'target', greatest(toInt64OrZero(a['otelgc.target.created']), 0), -1), if(scope = 'target', host_name, '')
  FROM (SELECT *, a['otelgc.jitter.scope'] AS scope FROM stretches WHERE event = 'otelgc.jitter.gap')
  WHERE (scope = 'target' AND target > 0 AND speaks OR scope = 'cgroup' AND speaks OR scope = 'machine' AND (speaks OR startsWith(source, 'probe.'))) AND startsWith(cause, 'host.')
  UNION ALL
  SELECT concat('process ', toString(number)), 'seen', 99, dark, light, 0, 0, -1, '' FROM seen WHERE dark < light
),
-- 8. The join: marks are laid over a span, it is cut wherever one begins or ends,
-- and each piece has one owner. A pid may have been another's: births are compared,
-- which for a process in a container, as one is that has another name for its host
-- than the sidecar, have to agree.
suffers AS (
  SELECT *, arrayJoin(arrayConcat([concat('process ', toString(process)), concat(boot, ' pid ', toString(target.1)), boot],
    arrayMap(c -> concat(boot, ' cgroup ', toString(c)), cgroups))) AS whose,
    ifNull(intDiv(toUnixTimestamp64Milli(parseDateTime64BestEffortOrNull(target.2, 3)), 10) % 100, -1) AS ticks FROM placed
), hits AS (
  SELECT span, s_start, s_end, t.owner AS owner, t.rank AS rank, t_start, t_end, if(rank < 99, s_slack + t_slack, 0) AS slack,
         if(t_start - slack >= s_start AND t_end + slack <= s_end, 0, slack) AS inside
  FROM suffers AS s JOIN stalls AS t ON s.whose = t.whose
  WHERE t_start - t_slack - s_slack < s_end AND t_end + t_slack + s_slack > s_start AND (teller = 0 OR teller != s.process)
    AND multiIf(born < 0, 1, born = 0 OR target.2 = '', NOT (target.3 OR host != '' AND target.4 != '' AND host != target.4), ticks = -1 OR ticks = born % 100)
), marks AS (
  SELECT span, s_start, s_end, m.1 AS mark, m.2 AS place, greatest(m.3, s_start) AS m_start, least(m.4, s_end) AS m_end
  FROM hits ARRAY JOIN arrayConcat([(owner, toUInt8(rank), t_start + inside, t_end - inside)], if(slack > 0, [('uncertain', toUInt8(90), t_start, t_end)], [])) AS m
), cut AS (
  SELECT span, groupArray((mark, place, m_start, m_end)) AS laid,
         arraySort(arrayDistinct(arrayConcat([any(s_start), any(s_end)], groupArray(m_start), groupArray(m_end)))) AS cuts
  FROM marks WHERE m_start < m_end GROUP BY span
), pieces AS (
  SELECT span, arrayJoin(arrayZip(arrayPopBack(cuts), arrayPopFront(cuts))) AS piece, piece.2 - piece.1 AS nanos,
         arraySort(m -> m.2, arrayFilter(m -> m.3 <= piece.1 AND m.4 >= piece.2, laid)) AS over,
         if(empty(over) OR over[1].2 = 99, 'unseen', over[1].1) AS owner, arrayExists(m -> m.2 = 99, over) AS watched
  FROM cut
), owned AS (
  SELECT span, sumMap(map(owner, nanos)) AS charged, sumIf(nanos, watched) AS watched FROM pieces GROUP BY span
)
SELECT TraceId, SpanId, ServiceName AS service, SpanName AS name, length / 1e9 AS duration, if(length > 0, o.watched / length, NOT odd AND span IN (SELECT span FROM found WHERE process != 0)) AS coverage,
       o.charged['gc.pause'] / 1e9 AS gc_pause, o.charged['runtime.suspension'] / 1e9 AS suspension,
       arraySum(mapValues(mapFilter((k, v) -> startsWith(k, 'host.'), o.charged))) / 1e9 AS host,
       o.charged['uncertain'] / 1e9 AS uncertain, duration - gc_pause - suspension - host - uncertain AS unseen,
       mapApply((k, v) -> (k, v / 1e9), if(empty(o.charged), map('unseen', length), o.charged)) AS charged
FROM spans LEFT JOIN owned AS o USING (span);
