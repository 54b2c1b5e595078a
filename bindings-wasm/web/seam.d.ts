/** An object of the module. */
export interface Inner {
  call(method: number, number: number, code: number, now: number, a: Uint8Array, b: Uint8Array, c: Uint8Array): void;
}

export function flat<T>(inner: new () => Inner, methods: string): new (config: string, seed: Uint8Array) => T;
export const CLIENT: string;
export const SERVER: string;
