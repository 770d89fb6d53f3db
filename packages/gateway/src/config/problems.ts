import { KeyLines, type KeyPath } from "./toml-positions.ts";

/** A configuration that cannot be used, with everything that is wrong in it, a line each. */
export class ConfigError extends Error {
  readonly code = "invalid_config";
  readonly problems: readonly string[];

  constructor(problems: readonly string[], options: { cause?: unknown } = {}) {
    super(problems.join("\n"), options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "ConfigError";
    this.problems = problems;
  }
}

/** A setting in the file, or a flag of the command line. */
export type Place = KeyPath | `--${string}`;

/** What is found while a configuration is read. Nothing stops at the first problem; `throwIfAny` ends it. */
export class Problems {
  readonly #file: string;
  readonly #toml: string;
  /** Looked up only when there is something to say. */
  #lines: KeyLines | undefined;
  readonly #errors: Found[] = [];
  readonly #warnings: Found[] = [];

  constructor(file: string, toml: string) {
    this.#file = file;
    this.#toml = toml;
  }

  error(place: Place, what: string): void {
    this.#errors.push(this.#found(place, what));
  }

  warn(place: Place, what: string): void {
    this.#warnings.push(this.#found(place, what));
  }

  get warnings(): string[] {
    return inOrder(this.#warnings);
  }

  throwIfAny(): void {
    if (this.#errors.length > 0) throw new ConfigError(inOrder(this.#errors));
  }

  #found(place: Place, what: string): Found {
    if (typeof place === "string") return { line: 0, text: `${place}: ${what}` };
    this.#lines ??= new KeyLines(this.#toml);
    const line = this.#lines.nearestLine(place);
    const name = pathText(place);
    return { line, text: `${this.#file}:${line}: ${name === "" ? "" : `${name}: `}${what}` };
  }
}

interface Found {
  readonly line: number;
  readonly text: string;
}

function inOrder(found: readonly Found[]): string[] {
  return found.toSorted((a, b) => a.line - b.line).map(({ text }) => text);
}

/** As one would write it in TOML: `models."my model"[1]`. */
export function pathText(path: KeyPath): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === "number") return `${text}[${part}]`;
    const key = /^[\w-]+$/.test(part) ? part : JSON.stringify(part);
    return text === "" ? key : `${text}.${key}`;
  }, "");
}
