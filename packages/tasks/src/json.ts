export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;
export type JsonObject = { [key: string]: JsonValue | undefined };

/** Whether two JSON values say the same; a field that is `undefined` is as good as none. */
export function equalJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b))
    return (
      Array.isArray(a) &&
      Array.isArray(b) &&
      a.length === b.length &&
      a.every((value, index) => equalJson(value, b[index]))
    );
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].every((key) =>
    equalJson((a as JsonObject)[key], (b as JsonObject)[key]),
  );
}
