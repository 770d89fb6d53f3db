/**
 * Returns the first of `offered` that an Accept-Encoding header accepts; `;q=0` rejects one. Linear in the header: a
 * header may be 32 KB long.
 */
export function acceptedEncoding<Encoding extends string>(
  header: string | undefined,
  offered: readonly Encoding[],
): Encoding | undefined {
  const accepted = new Set<string>();
  for (const part of (header ?? "").toLowerCase().split(",")) {
    const [name = "", weight = ""] = part.split(";", 2);
    if (!/^q=0(?:\.0*)?$/.test(weight.trim())) accepted.add(name.trim());
  }
  return offered.find((encoding) => accepted.has(encoding));
}
