/** Whether two values are the same, or two lists or objects of one level with the same members. */
export function isSame(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null)
    return false;
  if (Array.isArray(one))
    return (
      Array.isArray(other) &&
      one.length === other.length &&
      one.every((value, at) => Object.is(value, other[at]))
    );
  const keys = Object.keys(one);
  return (
    !Array.isArray(other) &&
    keys.length === Object.keys(other).length &&
    keys.every(
      (key) =>
        Object.hasOwn(other, key) &&
        Object.is((one as Record<string, unknown>)[key], (other as Record<string, unknown>)[key]),
    )
  );
}
