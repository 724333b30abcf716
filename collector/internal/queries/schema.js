// Holds the dashboard named by the first argument to the types of Grafana's own
// @grafana/schema, as literally as the compiler can, and prints what it
// complains of.
'use strict';

const fs = require('fs');
const path = require('path');
const ts = require('typescript');

const board = JSON.parse(fs.readFileSync(process.argv[2], 'utf8'));
const kinds = { barchart: 'BarChart', timeseries: 'TimeSeries' };
const types = (kind) => `@grafana/schema/dist/esm/raw/composable/${kind}/panelcfg/x/${kinds[kind]}PanelCfg_types.gen`;

// Plain is T as JSON has it: the values of an enumeration are plain text there.
const text = [
  `import type { Dashboard, Panel, RowPanel } from '@grafana/schema';`,
  ...Object.keys(kinds).map((kind) => `import type * as ${kind} from '${types(kind)}';`),
  'type Plain<T> = 0 extends 1 & T ? T : T extends string ? `${T}` : T extends readonly (infer U)[] ? Plain<U>[] : T extends object ? { [K in keyof T]: Plain<T[K]> } : T;',
  `export const board: Plain<Omit<Dashboard, 'panels'>> = ${JSON.stringify({ ...board, panels: undefined })};`,
  ...board.panels.flatMap((p, i) => {
    const what = `export const panel${i}`;
    if (p.type === 'row') return [`${what}: Plain<RowPanel> = ${JSON.stringify(p)};`];
    if (!kinds[p.type]) throw new Error(`${p.title}: no types for a panel of kind ${p.type}`);
    return [
      `${what}: Plain<Panel<Record<string, unknown>, {}>> = ${JSON.stringify(p)};`,
      `${what}options: Partial<Plain<${p.type}.Options>> = ${JSON.stringify(p.options)};`,
      `${what}custom: Plain<${p.type}.FieldConfig> = ${JSON.stringify(p.fieldConfig.defaults.custom ?? {})};`,
    ];
  }),
].join('\n');

const name = path.resolve(process.env.NODE_PATH, '../dashboard.ts'); // need not exist
const options = { strict: true, noEmit: true, skipLibCheck: true, types: [], module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler, target: ts.ScriptTarget.ES2022 };
const host = ts.createCompilerHost(options);
const { getSourceFile, fileExists, readFile } = host;
host.getSourceFile = (file, ...more) => (file === name ? ts.createSourceFile(file, text, options.target) : getSourceFile.call(host, file, ...more));
host.fileExists = (file) => file === name || fileExists.call(host, file);
host.readFile = (file) => (file === name ? text : readFile.call(host, file));

for (const d of ts.getPreEmitDiagnostics(ts.createProgram([name], options, host))) {
  process.exitCode = 1;
  const at = d.file && d.file.fileName === name ? text.split('\n')[d.file.getLineAndCharacterOfPosition(d.start).line].slice(0, 60) : d.file?.fileName ?? '';
  process.stderr.write(`${at}: ${ts.flattenDiagnosticMessageText(d.messageText, '\n')}\n`);
}
