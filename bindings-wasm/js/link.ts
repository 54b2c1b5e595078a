/** How a client reaches its server. Links carry bytes and HTTP parts; what they mean is the core's. */

/** What a link tells its client. */
export interface LinkEvents {
  /** Pipes: bytes arrived. */
  receive(bytes: Uint8Array): void;
  /** Pipes: it is gone, and why in words. */
  ended(reason: string): void;
  /** HTTP: the parts of the answer to one exchange. */
  response(stream: number, status: number, headers: string): void;
  body(stream: number, bytes: Uint8Array): void;
  end(stream: number): void;
  failed(stream: number, reason: string): void;
}

export interface PipeLink {
  readonly kind: "pipe";
  open(events: LinkEvents): Promise<void> | void;
  write(bytes: Uint8Array): void;
  /** No more will be written. */
  close(): void;
  /** Resolves when nothing of the link is left; bounded in time. */
  closed(): Promise<void>;
}

export interface HttpLink {
  readonly kind: "http";
  readonly url: string;
  readonly headers: { [name: string]: string };
  open(events: LinkEvents): void;
  /** `exchange` is the JSON of an {@link Exchange}. Its parts are told later, never before this returns. */
  fetch(stream: number, method: string, exchange: string): void;
  abort(stream: number): void;
  closed(): Promise<void>;
}

export type Link = PipeLink | HttpLink;

/** One HTTP request. */
export interface Exchange {
  url: string;
  headers: [string, string][];
  body: string | null;
}
