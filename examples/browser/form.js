// Form fields from a JSON Schema, and the value that was filled in. What has no field of its own is typed as JSON.
import { element, pretty } from "./dom.js";

let fields = 0;

/** Fields for an object schema: `element` to show, `read()` for the value. */
export function objectForm(schema) {
  const required = new Set(schema?.required ?? []);
  const members = Object.entries(schema?.properties ?? {}).map(([name, member]) => [name, field(name, member ?? {}, required.has(name))]);
  return {
    element: element("div", {}, ...members.map(([, made]) => made.element)),
    read() {
      const values = members.map(([name, made]) => [name, made.read()]);
      return Object.fromEntries(values.filter(([, value]) => value !== undefined));
    },
  };
}

function field(name, schema, required) {
  const id = `field-${(fields += 1)}`;
  const title = `${schema.title ?? name}${required ? " (required)" : ""}`;
  const type = Array.isArray(schema.type) ? schema.type.find((one) => one !== "null") : schema.type;
  if (type === "object" && schema.properties !== undefined) return group(title, schema, required);
  const made = choices(id, schema, required) ?? (inputs[type] ?? json)(id, schema, required);
  const hint = schema.description && element("span", { className: "hint", id: `${id}-hint`, textContent: schema.description });
  if (hint) made.input.setAttribute("aria-describedby", hint.id);
  made.input.name = name;
  const label = element("label", { for: id, textContent: title });
  const parts = type === "boolean" ? [made.input, label, hint] : [label, made.input, hint];
  return { element: element("div", { className: "field" }, ...parts.filter(Boolean)), read: made.read };
}

function group(title, schema, required) {
  const inner = objectForm(schema);
  return {
    element: element("fieldset", {}, element("legend", { textContent: title }), inner.element),
    read() {
      const value = inner.read();
      return required || Object.keys(value).length > 0 ? value : undefined;
    },
  };
}

/** A list to choose from, for `enum`, for `oneOf` constants, and for several of either. */
function choices(id, schema, required) {
  const several = schema.type === "array";
  const from = several ? (schema.items ?? {}) : schema;
  const titled = (from.oneOf ?? from.anyOf)?.every((one) => "const" in one) ? (from.oneOf ?? from.anyOf) : undefined;
  const values = titled?.map((one) => one.const) ?? from.enum;
  if (values === undefined) return undefined;
  const titles = titled?.map((one) => one.title) ?? from.enumNames ?? [];
  const input = element("select", { id, required, multiple: several });
  if (!several) input.append(element("option", { value: "", textContent: "" }));
  values.forEach((value, at) => {
    const chosen = several ? (schema.default ?? []).includes(value) : schema.default === value;
    input.append(element("option", { value: at, textContent: titles[at] ?? String(value), selected: chosen }));
  });
  const read = () => {
    const chosen = [...input.selectedOptions].filter((option) => option.value !== "").map((option) => values[option.value]);
    if (several) return chosen.length > 0 || required ? chosen : undefined;
    return chosen[0];
  };
  return { input, read };
}

const FORMATS = { email: "email", uri: "url", date: "date", "date-time": "text" };

const inputs = {
  string(id, schema, required) {
    const input = element("input", { id, required, type: FORMATS[schema.format] ?? "text", value: schema.default ?? "" });
    if (schema.minLength > 0) input.minLength = schema.minLength;
    if (schema.maxLength >= 0) input.maxLength = schema.maxLength;
    return { input, read: () => (input.value === "" && !required ? undefined : input.value) };
  },

  number: (id, schema, required) => numeric(id, schema, required, "any"),

  integer: (id, schema, required) => numeric(id, schema, required, "1"),

  boolean(id, schema) {
    const input = element("input", { id, type: "checkbox", checked: schema.default === true });
    return { input, read: () => input.checked };
  },
};

function numeric(id, schema, required, step) {
  const input = element("input", { id, required, type: "number", step, value: schema.default ?? "" });
  for (const [bound, keyword] of [["min", "minimum"], ["max", "maximum"]]) {
    if (schema[keyword] !== undefined) input[bound] = schema[keyword];
  }
  const read = () => {
    if (input.value === "") return undefined;
    const value = Number(input.value);
    return /^-?\d+$/.test(input.value) && !Number.isSafeInteger(value) ? BigInt(input.value) : value;
  };
  return { input, read };
}

function json(id, schema, required) {
  const value = schema.default === undefined ? "" : pretty(schema.default);
  const input = element("textarea", { id, required, rows: 3, value, placeholder: "JSON", spellcheck: false });
  input.addEventListener("input", () => input.setCustomValidity(isJson(input.value) ? "" : "This is no JSON."));
  return { input, read: () => (input.value.trim() === "" ? undefined : JSON.parse(input.value)) };
}

function isJson(text) {
  try {
    return text.trim() === "" || (JSON.parse(text), true);
  } catch {
    return false;
  }
}
