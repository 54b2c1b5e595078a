/**
 * Schemas from any library that keeps the Standard Schema contract (zod 4, ArkType, Valibot through its JSON
 * Schema package), or plain JSON Schema objects. No library is imported.
 */
import { InvalidError, UsageError } from "./errors.js";

/** A JSON Schema document. */
export type JsonSchema = { readonly [keyword: string]: unknown };

/** The part of the Standard Schema contract that is used here. */
export interface StandardSchema<Output = unknown> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => Validated<Output> | Promise<Validated<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
  };
}

/** What a schema makes of a value: the value, or what is wrong with it. */
export type Validated<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly Issue[] };

export interface Issue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

export type Schema = StandardSchema | JsonSchema;

/** What a handler gets for a schema: the library's output type, or anything for plain JSON Schema. */
export type Output<S> = S extends { readonly "~standard": { readonly types?: infer T } }
  ? NonNullable<T> extends { readonly output: infer O }
    ? O
    : any
  : any;

function standard(schema: Schema): StandardSchema | undefined {
  return "~standard" in schema ? (schema as StandardSchema) : undefined;
}

type Side = "input" | "output";
interface Converter {
  input?: (options: { target: string }) => JsonSchema;
  output?: (options: { target: string }) => JsonSchema;
}

/** The JSON Schema of a schema. UsageError when its library cannot give one. */
export function jsonSchema(schema: Schema, side: Side): JsonSchema {
  const library = standard(schema);
  if (library === undefined) return schema as JsonSchema;
  const made = fromLibrary(schema, library, side);
  if (made === undefined) {
    throw new UsageError(
      `this ${library["~standard"].vendor} schema gives no JSON Schema: use zod 4.2 or later, ArkType 2, ` +
        "toStandardJsonSchema of @valibot/to-json-schema, or plain JSON Schema",
    );
  }
  // The dialect is the default one; peers of older revisions take offence at the key.
  const { $schema: _dialect, ...rest } = made as { $schema?: unknown };
  return rest;
}

function fromLibrary(schema: Schema, library: StandardSchema, side: Side): JsonSchema | undefined {
  const converter = (library["~standard"] as { jsonSchema?: Converter }).jsonSchema;
  const convert = converter?.[side];
  if (convert !== undefined) return convert({ target: "draft-2020-12" });
  const own = schema as { toJSONSchema?: (o: object) => JsonSchema; toJsonSchema?: () => JsonSchema };
  return own.toJSONSchema?.({ io: side }) ?? own.toJsonSchema?.();
}

/** Checks and converts `value`: at once when the library can, else as a promise. InvalidError names the paths. */
export function validate(schema: Schema | undefined, value: unknown, what: string): unknown {
  const library = schema === undefined ? undefined : standard(schema);
  if (library === undefined) return value;
  const outcome = library["~standard"].validate(value);
  return outcome instanceof Promise ? outcome.then((done) => checked(done, what)) : checked(outcome, what);
}

function checked(outcome: Validated<unknown>, what: string): unknown {
  if (outcome.issues === undefined) return outcome.value;
  const issues = outcome.issues.map((issue) => {
    const path = (issue.path ?? []).map((part) => String(typeof part === "object" ? part.key : part)).join(".");
    return path === "" ? issue.message : `${path}: ${issue.message}`;
  });
  throw new InvalidError(`${what}: ${issues.join("; ")}`);
}
