// Elements without markup in strings: what servers send is text, whatever is in it.

/** An element with properties, attributes (names with "-", or `for`, `role`) and children. */
export function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined) continue;
    if (key.includes("-") || key === "for" || key === "role") made.setAttribute(key, value);
    else made[key] = value;
  }
  made.append(...children.filter((child) => child !== undefined));
  return made;
}

export const find = (id) => document.getElementById(id);

/** JSON for people; integers beyond 2^53 as they are. */
export function pretty(value) {
  const exact = (_, member) => (typeof member === "bigint" ? (JSON.rawJSON?.(String(member)) ?? String(member)) : member);
  return JSON.stringify(value, exact, 2);
}
