/**
 * With `KEEL_TRACE=FOLDER` in the environment every client and server of this process writes down there what it sends and
 * gets: `ROLE#OBJECT.CONVERSATION > JSON`, a message a line, in a file for each process. Messages hold what users said:
 * for looking into a problem, not for keeping.
 */
import { appendFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { useJournal } from "../../bindings-wasm/js/trace.js";

let objects = 0;

useJournal((role) => {
  const folder = process.env.KEEL_TRACE;
  if (!folder) return undefined;
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${process.pid}.trace`);
  const object = ++objects;
  // A line feed in JSON is space between its parts.
  return (direction, message, conversation) =>
    appendFileSync(file, `${role}#${object}.${conversation} ${direction} ${message.replace(/[\r\n]/g, " ")}\n`);
});
