// Runs the SQL on stdin in DuckDB, and prints the table joined as JSON.
'use strict';

const { DuckDBInstance } = require('@duckdb/node-api');

async function main() {
  const db = await (await DuckDBInstance.create(':memory:', { threads: '1' })).connect();
  await db.run(require('fs').readFileSync(0, 'utf8'));
  const rows = await db.runAndReadAll('SELECT span_id, gc_pause, uncertain FROM joined');
  process.stdout.write(JSON.stringify(rows.getRowObjectsJson()));
}

main().catch((e) => {
  process.stderr.write(`${e.message}\n`);
  process.exitCode = 1;
});
