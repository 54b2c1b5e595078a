/** What handlers return, as the outcomes that the core takes. */
import { InvalidError, PeerError, words } from "./errors.js";
import { stringify } from "./json.js";
import type { CallToolResult, ContentBlock, GetPromptResult, PromptMessage, ReadResourceResult, ResourceContents } from "./types.js";

/** What a tool handler may return; see `Server.tool`. */
export type ToolOutput = string | number | bigint | boolean | null | undefined | void | object;
/** What a resource handler may return: a text, bytes, or contents by their wire names. */
export type ResourceOutput = string | Uint8Array | Partial<ResourceContents> | Partial<ResourceContents>[] | ReadResourceResult;
/** What a prompt handler may return: the text of one user message, messages, or the whole result. */
export type PromptOutput = string | PromptMessage | PromptMessage[] | GetPromptResult;

/** From this length on memory counts more than time. */
const LONG = 64 * 1024;

const BLOCKS = new Set(["text", "image", "audio", "resource", "resource_link"]);

function isBlock(value: unknown): value is ContentBlock {
  return typeof value === "object" && value !== null && BLOCKS.has((value as { type?: string }).type ?? "");
}

function isContent(value: unknown): value is ContentBlock[] {
  return Array.isArray(value) && value.every(isBlock);
}

/** The result for a value of a tool that declared no output schema. */
export function toolResult(value: ToolOutput): string {
  if (typeof value === "string") {
    // Pieces of text are put together fastest; a long one would be there once more, so it is written at once.
    if (value.length < LONG) return `{"result":{"content":[{"type":"text","text":${JSON.stringify(value)}}]}}`;
    return stringify({ result: { content: [{ type: "text", text: value }] } });
  }
  if (value === undefined || value === null) return '{"result":{"content":[]}}';
  if (isBlock(value)) return stringify({ result: { content: [value] } });
  if (isContent(value)) return stringify({ result: { content: value } });
  const whole = wholeResult(value);
  if (whole !== undefined) return stringify({ result: whole });
  if (typeof value === "object" && !Array.isArray(value)) return structuredResult(value);
  return stringify({ result: { content: [{ type: "text", text: stringify(value) }] } });
}

/** A value that is a CallToolResult already, else undefined. */
export function wholeResult(value: unknown): CallToolResult | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { content, structuredContent, isError } = value as Partial<CallToolResult>;
  if (content === undefined ? structuredContent === undefined : !isContent(content)) return undefined;
  if (isError !== undefined && typeof isError !== "boolean") return undefined;
  if (content !== undefined) return value as CallToolResult;
  return { ...value, content: [{ type: "text", text: stringify(structuredContent) }] };
}

/** Structured content, and the same as text for clients that read only that. */
export function structuredResult(value: unknown): string {
  const text = stringify(value);
  return `{"result":{"content":[{"type":"text","text":${JSON.stringify(text)}}],"structuredContent":${text}}}`;
}

/** A failed tool is a result that the model can read; only a PeerError is a protocol error. */
export function toolFailure(error: unknown): string {
  if (error instanceof PeerError) return failure(error);
  return stringify({ result: { content: [{ type: "text", text: words(error) }], isError: true } });
}

export function failure(error: unknown): string {
  return rpcFailure(error, error instanceof InvalidError ? -32602 : -32603);
}

/** The outcome for what a handler threw: a PeerError as it is, without data that has no JSON; else `code`. */
export function rpcFailure(error: unknown, code: number): string {
  if (!(error instanceof PeerError)) return stringify({ error: { code, message: words(error) } });
  const rpc = { code: error.rpcCode, message: error.message };
  try {
    return stringify({ error: { ...rpc, data: error.data } });
  } catch {
    return stringify({ error: rpc });
  }
}

export function resourceResult(value: ResourceOutput, uri: string, mimeType: string | undefined): string {
  if (typeof value === "object" && "contents" in value) return stringify({ result: value });
  const parts: unknown[] = Array.isArray(value) ? value : [value];
  const contents = parts.map((part) => {
    if (typeof part === "string") return { uri, mimeType, text: part };
    if (part instanceof Uint8Array) return { uri, mimeType, blob: base64(part) };
    return { uri, mimeType, ...(part as object) };
  });
  return stringify({ result: { contents } });
}

export function promptResult(value: PromptOutput): string {
  if (typeof value === "string") {
    return stringify({ result: { messages: [{ role: "user", content: { type: "text", text: value } }] } });
  }
  if (Array.isArray(value)) return stringify({ result: { messages: value } });
  return stringify({ result: "messages" in value ? value : { messages: [value] } });
}

/** Bytes as base64, for image and audio blocks. */
export function base64(bytes: Uint8Array): string {
  let binary = "";
  // In steps: the arguments of one call live on the stack.
  for (let at = 0; at < bytes.length; at += 0x8000) binary += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(binary);
}
