export interface ImportStatement {
  specifier: string;
  isTypeOnly: boolean;
  /** True for a dynamic `import()`. */
  isDynamic: boolean;
}

/** Returns all imports of a file. */
export function parseImports(text: string): ImportStatement[] {
  const code = text.replace(/`[^`]*`/g, "``").replace(/\/\/.*|\/\*[^]*?\*\//g, "");
  const statements =
    /^\s*(?:import|export)\s+(type\s+)?(?:[^;"'=()]*?\sfrom\s*)?["']([^"']+)["']/gm;
  const dynamicImports = /\bimport\s*\(\s*["']([^"']+)["']/g;
  return [
    ...[...code.matchAll(statements)].map(([, type, specifier = ""]) => ({
      specifier,
      isTypeOnly: !!type,
      isDynamic: false,
    })),
    ...[...code.matchAll(dynamicImports)].map(([, specifier = ""]) => ({
      specifier,
      isTypeOnly: false,
      isDynamic: true,
    })),
  ];
}
