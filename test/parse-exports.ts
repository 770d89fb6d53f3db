/** Returns the names that an index file exports. */
export function parseExportedNames(source: string): string[] {
  return [...source.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap(([, list = ""]) =>
    list
      .split(",")
      .map((name) => name.replace(/^\s*type\s/, "").trim())
      .filter((name) => name !== ""),
  );
}

/** Returns the names that are not in any code span of the text. */
export function findUndocumentedNames(names: readonly string[], text: string): string[] {
  const spans = [...text.replace(/^```[^]*?^```$/gm, "").matchAll(/`([^`\n]+)`/g)];
  const words = new Set(spans.flatMap(([, span = ""]) => span.match(/\w+/g) ?? []));
  return names.filter((name) => !words.has(name));
}
