export interface Import {
  from: string;
  typesOnly: boolean;
  /** Whether it is a call of `import()`. */
  isDynamic: boolean;
}

/** What a file imports, by whichever kind of statement. */
export function importsOf(text: string): Import[] {
  const code = text.replace(/`[^`]*`/g, "``").replace(/\/\/.*|\/\*[^]*?\*\//g, "");
  const statements =
    /^\s*(?:import|export)\s+(type\s+)?(?:[^;"'=()]*?\sfrom\s*)?["']([^"']+)["']/gm;
  const calls = /\bimport\s*\(\s*["']([^"']+)["']/g;
  return [
    ...[...code.matchAll(statements)].map(([, type, from = ""]) => ({
      from,
      typesOnly: !!type,
      isDynamic: false,
    })),
    ...[...code.matchAll(calls)].map(([, from = ""]) => ({
      from,
      typesOnly: false,
      isDynamic: true,
    })),
  ];
}
