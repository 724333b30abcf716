// Runs a file of SQL in DuckDB, then the questions on stdin, and prints what it
// says of the spans and how many rows each question has, as JSON.
'use strict';

const fs = require('fs');
const { DuckDBInstance } = require('@duckdb/node-api');

async function main() {
  const db = await (await DuckDBInstance.create(':memory:', { threads: '1' })).connect();
  await db.run(fs.readFileSync(process.argv[2], 'utf8'));
  const rows = async (sql) => (await db.runAndReadAll(sql)).getRowObjectsJson();
  const answers = [];
  for (const question of JSON.parse(fs.readFileSync(0, 'utf8'))) answers.push((await rows(question)).length);
  process.stdout.write(JSON.stringify({ spans: await rows('SELECT * FROM joined'), charges: await rows('SELECT * FROM charges'), answers }));
}

main().catch((e) => {
  process.stderr.write(`${e.message}\n`);
  process.exitCode = 1;
});
