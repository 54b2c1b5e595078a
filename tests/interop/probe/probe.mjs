// Runs a list of steps against any server with the Node client: one JSON line for each step.
//
//   probe.mjs --steps FILE [--dir FOLDER] (--http URL | --stdio -- COMMAND ARGS...)
import { readFileSync } from 'node:fs';
import { Client, PeerError } from '../../../bindings-node/dist/index.mjs';

// Every step is bounded by this many milliseconds.
const EACH = 20_000;

const show = (value) => JSON.stringify(value);
const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

/** What of `wanted` is not in `got`: members of objects, elements of lists in their order, `{"contains": text}`. */
function misses(got, wanted) {
  if (typeof got === 'string' && isObject(wanted) && show(Object.keys(wanted)) === '["contains"]') {
    return got.includes(wanted.contains) ? undefined : `${show(got)} has no ${show(wanted.contains)}`;
  }
  if (isObject(got) && isObject(wanted)) {
    for (const [name, value] of Object.entries(wanted)) {
      const why = name in got ? misses(got[name], value) : 'is not there';
      if (why) return `${name}: ${why}`;
    }
    return undefined;
  }
  if (Array.isArray(got) && Array.isArray(wanted)) {
    const rest = [...got];
    for (const value of wanted) {
      const at = rest.findIndex((element) => misses(element, value) === undefined);
      if (at < 0) return `no ${show(value)} in ${show(got)}`;
      rest.splice(0, at + 1);
    }
    return undefined;
  }
  return got === wanted ? undefined : `got ${show(got)}, wanted ${show(wanted)}`;
}

async function step(client, { method, params, expect, error, progress }) {
  const seen = [];
  const options = { all: method.endsWith('/list') };
  if (progress) options.onProgress = (step) => seen.push(step.progress);
  let result;
  try {
    result = await client.request(method, params, options);
  } catch (fault) {
    if (error !== undefined && fault instanceof PeerError && fault.rpcCode === error) return;
    throw fault;
  }
  if (error !== undefined) throw new Error(`no error, but ${show(result)}`);
  const why = misses(result, expect);
  if (why) throw new Error(why);
  if (progress && show(seen) !== show(progress)) throw new Error(`progress ${show(seen)}`);
}

function bounded(promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`it took longer than ${EACH} ms`)), EACH);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

const words = process.argv.slice(2);
const option = (name) => (words.includes(name) ? words[words.indexOf(name) + 1] : undefined);
// As text inside of JSON, whatever is in the folder's name.
const folder = show(option('--dir') ?? '').slice(1, -1);
const plan = JSON.parse(readFileSync(option('--steps'), 'utf8').replaceAll('$DIR', () => folder));
const [command, ...args] = words.slice(words.indexOf('--') + 1);
const target = option('--http') ?? { command, args };
const { 'elicitation/create': elicited, 'sampling/createMessage': sampled } = plan.answers;

let client;
const steps = [
  [
    'connect',
    async () => {
      const options = {};
      if (elicited) options.onElicit = () => elicited;
      if (sampled) options.onSample = () => sampled;
      client = await Client.connect(target, options);
    },
  ],
  ...plan.steps.map((what) => [what.check, () => step(client, what)]),
  ['close', () => client.close()],
];
let fine = true;
for (const [check, run] of steps) {
  let line = { check, ok: true };
  try {
    await bounded(run());
  } catch (error) {
    line = { check, ok: false, error: String(error) };
    fine = false;
  }
  process.stdout.write(`${show(line)}\n`);
  if (!client) break;
}
process.exitCode = fine ? 0 : 1;
