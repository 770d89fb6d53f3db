/** Returns about how many characters the JSON of a value has, without building it. */
export function estimateJsonLength(value: unknown): number {
  let length = 0;
  const pending: unknown[] = [value];
  while (pending.length > 0) {
    const next = pending.pop();
    if (typeof next === "string") length += next.length + 2;
    else if (Array.isArray(next)) {
      length += next.length + 2;
      for (const entry of next) pending.push(entry);
    } else if (typeof next === "object" && next !== null)
      for (const [key, entry] of Object.entries(next)) {
        length += key.length + 4;
        pending.push(entry);
      }
    else length += 5;
  }
  return length;
}
