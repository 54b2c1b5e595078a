/** Everything this package throws. `code` is a stable word, the same in every language. */

export class KeelError extends Error {
  // Written out in every class: minifiers rename classes.
  override readonly name: string = "KeelError";
  readonly code: string;

  constructor(message: string, code = "error") {
    super(message);
    this.code = code;
  }
}

/** The caller asked for something that is not possible here; nothing was sent. */
export class UsageError extends KeelError {
  override readonly name: string = "UsageError";

  constructor(message: string, code = "usage") {
    super(message, code);
  }
}

/** Data did not fit its schema, or a number has no exact value here ("unsafe_integer"). */
export class InvalidError extends KeelError {
  override readonly name: string = "InvalidError";

  constructor(message: string, code = "invalid") {
    super(message, code);
  }
}

/** One of the bounds in `limits` was reached. */
export class LimitError extends KeelError {
  override readonly name: string = "LimitError";

  constructor(message: string, code = "limit") {
    super(message, code);
  }
}

/** No answer came in time. The peer was told that the request is cancelled. */
export class RequestTimeout extends KeelError {
  override readonly name: string = "RequestTimeout";

  constructor(message: string, code = "timeout") {
    super(message, code);
  }
}

/** The request was cancelled, by an AbortSignal or by the other side. */
export class Cancelled extends KeelError {
  override readonly name: string = "Cancelled";

  constructor(message: string, code = "cancelled") {
    super(message, code);
  }
}

/** The connection is gone. The message says why, with the last words of a dead child process. */
export class Disconnected extends KeelError {
  override readonly name: string = "Disconnected";

  constructor(message: string, code = "disconnected") {
    super(message, code);
  }
}

/** The JSON-RPC error of a {@link PeerError}. */
export interface RpcError {
  rpcCode: number;
  data?: unknown;
}

/**
 * The other side answered with a JSON-RPC error. Thrown by a handler, it is what the client gets as its answer:
 * `throw new PeerError("no such city", { rpcCode: -32602 })`.
 */
export class PeerError extends KeelError {
  override readonly name: string = "PeerError";
  readonly rpcCode: number;
  readonly data: unknown;

  constructor(message: string, rpc: RpcError, code = "peer") {
    super(message, code);
    this.rpcCode = rpc.rpcCode;
    this.data = rpc.data;
  }
}

interface Wire {
  code?: number;
  message?: string;
  data?: unknown;
}

const KINDS: Record<string, new (message: string, code: string) => KeelError> = {
  usage: UsageError,
  invalid: InvalidError,
  limit: LimitError,
  timeout: RequestTimeout,
  cancelled: Cancelled,
  disconnected: Disconnected,
};

/** The error for an `error` record of the core. */
export function fromRecord(text: string): KeelError {
  const told = JSON.parse(text) as { kind: string; code: string; message: string; rpc?: Wire };
  if (told.rpc !== undefined) return fromRpc(told.rpc, told.code);
  return new (KINDS[told.kind] ?? KeelError)(told.message, told.code);
}

/** The error for the `error` member of an outcome. */
export function fromRpc(wire: Wire, code?: string): PeerError {
  return new PeerError(wire.message ?? "", { rpcCode: wire.code ?? 0, data: wire.data }, code);
}

/** The error for a call that the core refused. Errors that are not the core's come back as they are. */
export function fromCore(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof KeelError) return error;
  const { code } = error as { code?: unknown };
  if (typeof code !== "string") return error;
  return code === "internal_error" ? new KeelError(error.message, code) : new UsageError(error.message, code);
}

export function words(error: unknown): string {
  const said = error instanceof Error ? error.message || error.name : String(error);
  return said === "" ? "unknown error" : said;
}
