/** The names that an index lists. */
export function exportsOf(source: string): string[] {
  return [...source.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap(([, list = ""]) =>
    list
      .split(",")
      .map((name) => name.replace(/^\s*type\s/, "").trim())
      .filter((name) => name !== ""),
  );
}

/** Of these names, those that stand in no code span of the text. */
export function missing(names: readonly string[], text: string): string[] {
  const spans = [...text.replace(/^```[^]*?^```$/gm, "").matchAll(/`([^`\n]+)`/g)];
  const words = new Set(spans.flatMap(([, span = ""]) => span.match(/\w+/g) ?? []));
  return names.filter((name) => !words.has(name));
}
