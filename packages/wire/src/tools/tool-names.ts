import { shortHash } from "../short-hash.ts";

/** OpenAI's limits for function names, which most servers copied. */
const maxNameLength = 64;
const allowedName = /^[A-Za-z0-9_-]+$/;

/** Returns the name under which a tool is offered: its name if it is valid, otherwise a readable prefix and a hash. */
export function toUpstreamToolName(name: string, namespace?: string): string {
  const fullName = namespace === undefined ? name : flattenToolName(namespace, name);
  return fullName.length <= maxNameLength && allowedName.test(fullName)
    ? fullName
    : createToolAlias(fullName);
}

/** Returns the name unchanged, or an alias if it is longer than servers accept. */
export function shortenToolName(name: string): string {
  return name.length <= maxNameLength ? name : createToolAlias(name);
}

/** Returns a valid name that is unique for each full name, even if they have the same prefix. */
export function createToolAlias(fullName: string): string {
  const hash = shortHash(fullName);
  const readable = fullName
    .replace(/[^A-Za-z0-9_-]+/g, "_")
    .slice(0, maxNameLength - hash.length - 1);
  return `${readable}_${hash}`;
}

/** Joins a namespace and a name with `__`, unless the namespace ends with `__`, as Codex's namespaces of MCP servers may. */
export function flattenToolName(namespace: string, name: string): string {
  return namespace.endsWith("__") ? namespace + name : `${namespace}__${name}`;
}
