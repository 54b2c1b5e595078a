// Runs a list of steps against any server with the Node client: one JSON line for each step.
//
//   probe.mjs --steps FILE [--dir FOLDER] (--http URL | --stdio -- COMMAND ARGS...)
import { readFileSync } from 'node:fs';
import { Client } from '../../../bindings-node/dist/index.mjs';

// Every step is bounded by this many milliseconds.
const EACH = 20_000;
