// What the fixture's clients on the TypeScript SDKs share: the command line, and the checks over a small adapter.

const TOOLS = ['echo', 'add', 'count', 'ask_name', 'slow', 'fail', 'chatty'];

export function options() {
  const found = { era: 'auto', verbose: false, http: null, command: [] };
  const words = process.argv.slice(2);
  while (words.length > 0) {
    const word = words.shift();
    if (word === '--era') found.era = words.shift();
    else if (word === '--http') found.http = words.shift();
    else if (word === '--verbose') found.verbose = true;
    else if (word === '--') found.command = words.splice(0);
    else if (word !== '--stdio') throw new Error(`unknown option ${word}`);
  }
  if (!found.http && found.command.length === 0) throw new Error('neither --http URL nor --stdio -- COMMAND');
  return found;
}

/** Watches every message of a transport: `seen('>' or '<', message)`. */
export function tap(transport, seen) {
  const send = transport.send.bind(transport);
  transport.send = (message, ...rest) => {
    // Over HTTP it ends only with the answer, so it is told as soon as it has begun.
    const sending = send(message, ...rest);
    seen('>', message);
    return sending;
  };
  let deliver;
  Object.defineProperty(transport, 'onmessage', {
    get: () => deliver,
    set: (handler) => {
      deliver =
        handler &&
        ((message, ...rest) => {
          seen('<', message);
          handler(message, ...rest);
        });
    },
  });
  return transport;
}

const show = (value) => JSON.stringify(value);

function same(got, wanted) {
  if (show(got) !== show(wanted)) throw new Error(`got ${show(got)}, wanted ${show(wanted)}`);
}

function bounded(promise, ms) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`it took longer than ${ms} ms`)), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/**
 * Runs the checks in their order and prints one line for each. The adapter has `connect(seen, elicited)` (resolves to
 * the era, seen as in `tap`), `close`, `tools` (names), `call(name, args, {onprogress, signal})`, `read(uri)`,
 * `prompt(name, args)`, `complete(prompt, argument, value)`, and `skips` (reason by check).
 */
export async function run(adapter, { era, verbose }) {
  let slowSent;
  const sent = new Promise((resolve) => (slowSent = resolve));
  let received = [];
  const seen = (arrow, message) => {
    if (verbose) process.stderr.write(`${arrow} ${show(message)}\n`);
    if (arrow === '>' && message.params?.name === 'slow') slowSent();
    if (arrow === '<') received.push(message);
  };
  const elicited = (params) => {
    same(params.message, 'What is your name?');
    return { action: 'accept', content: { name: 'Ada' } };
  };
  const text = async (name, args = {}) => (await adapter.call(name, args)).content[0].text;

  const checks = {
    connect: async () => {
      const got = await adapter.connect(seen, elicited);
      if (era !== 'auto') same(got, era);
    },
    tools: async () => {
      const found = await adapter.tools();
      same(TOOLS.filter((name) => !found.includes(name)), []);
    },
    echo: async () => {
      const odd = 'grüß 🦀 \u0000\n"';
      same(await text('echo', { text: odd }), odd);
    },
    big: async () => {
      throw new Error('no JavaScript number holds 9007199254740993');
    },
    // These SDKs hand a notification on one turn later than an answer, so of those that share a chunk with the answer
    // the handler sees nothing. What counts is what the server sent, in which order.
    progress: async () => {
      received = [];
      const result = await adapter.call('count', { to: 3 }, { onprogress: () => {} });
      same(result.content[0].text, 'counted to 3');
      const steps = received.filter(({ method }) => method === 'notifications/progress').map(({ params }) => params);
      same(steps.map(({ progress, total, message }) => [progress, total, message]), [
        [1, 3, 'step 1'],
        [2, 3, 'step 2'],
        [3, 3, 'step 3'],
      ]);
      if (!received.at(-1)?.result) throw new Error(`the answer came before ${show(received.at(-1))}`);
    },
    elicitation: async () => same(await text('ask_name'), 'Hello, Ada!'),
    resource: async () => same((await adapter.read('memo://greeting')).contents[0].text, 'Hello from the fixture'),
    template: async () => same((await adapter.read('memo://item/7')).contents[0].text, 'item 7'),
    prompt: async () => {
      const { messages } = await adapter.prompt('greet', { name: 'Ada' });
      same(messages.map(({ role, content }) => [role, content.text]), [['user', 'Please greet Ada.']]);
    },
    completion: async () => same((await adapter.complete('greet', 'name', 'a')).completion.values, ['ada', 'alan']),
    error: async () => {
      const result = await adapter.call('nope', {}).catch((error) => error);
      if (!(result instanceof Error)) throw new Error(`an unknown tool gave ${show(result)}`);
      same(result.code, -32602);
    },
    tool_error: async () => {
      const result = await adapter.call('fail', {});
      same(result.isError, true);
      if (!result.content[0].text.includes('it failed')) throw new Error(result.content[0].text);
    },
    cancel: async () => {
      const stop = new AbortController();
      const call = adapter.call('slow', { ms: 60_000 }, { signal: stop.signal }).then(
        () => 'answered',
        () => 'rejected',
      );
      await sent;
      stop.abort('not needed any more');
      same(await bounded(call, 1000), 'rejected');
      same(await text('echo', { text: 'after' }), 'after');
    },
    close: () => adapter.close(),
  };

  let fine = true;
  for (const [check, body] of Object.entries(checks)) {
    let line = { check, ok: true };
    if (adapter.skips[check]) line = { check, skip: adapter.skips[check] };
    else {
      try {
        await bounded(body(), 10_000);
      } catch (error) {
        line = { check, ok: false, error: String(error) };
        fine = false;
      }
    }
    process.stdout.write(`${show(line)}\n`);
    if (check === 'connect' && !fine) break;
  }
  process.exit(fine ? 0 : 1);
}
