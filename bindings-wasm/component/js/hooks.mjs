// Which file the package mcp-keel is.
let keel;

export function initialize(url) {
  keel = url;
}

export function resolve(specifier, context, next) {
  return specifier === "mcp-keel" ? { url: keel, shortCircuit: true } : next(specifier, context);
}
