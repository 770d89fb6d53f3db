import { KeyLineIndex, type KeyPath } from "./toml-positions.ts";

/** An invalid configuration. The message has one line per problem. */
export class ConfigError extends Error {
  readonly code = "invalid_config";
  readonly problems: readonly string[];

  constructor(problems: readonly string[], options: { cause?: unknown } = {}) {
    super(problems.join("\n"), options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "ConfigError";
    this.problems = problems;
  }
}

/** A setting in the file, or a command-line flag. */
export type SettingLocation = KeyPath | `--${string}`;

/** Collects errors and warnings while a configuration is decoded, so that all of them are reported at once. */
export class ConfigProblems {
  readonly #file: string;
  readonly #toml: string;
  /** Built when the first problem is reported. */
  #lines: KeyLineIndex | undefined;
  readonly #errors: LocatedProblem[] = [];
  readonly #warnings: LocatedProblem[] = [];

  constructor(file: string, toml: string) {
    this.#file = file;
    this.#toml = toml;
  }

  error(location: SettingLocation, message: string): void {
    this.#errors.push(this.#locate(location, message));
  }

  /** `suggestion` follows the name, for example ` (did you mean port?)`. */
  reportUnknownSetting(path: KeyPath, suggestion: string): void {
    this.#reportUnknown(path, `setting ${formatKeyPath(path)}${suggestion}`);
  }

  reportUnknownTable(path: KeyPath, suggestion: string): void {
    this.#reportUnknown(path, `table [${formatKeyPath(path)}]${suggestion}`);
  }

  #reportUnknown(path: KeyPath, description: string): void {
    const line = this.#findLine(path);
    this.#errors.push({ line, text: `${this.#file}:${line}: unknown ${description}` });
  }

  warn(location: SettingLocation, message: string): void {
    this.#warnings.push(this.#locate(location, message));
  }

  get warnings(): string[] {
    return sortByLine(this.#warnings);
  }

  /** Throws a ConfigError with all errors, if there are any. */
  throwIfAny(): void {
    if (this.#errors.length > 0) throw new ConfigError(sortByLine(this.#errors));
  }

  #locate(location: SettingLocation, message: string): LocatedProblem {
    if (typeof location === "string") return { line: 0, text: `${location}: ${message}` };
    const line = this.#findLine(location);
    const name = formatKeyPath(location);
    return { line, text: `${this.#file}:${line}: ${name === "" ? "" : `${name}: `}${message}` };
  }

  #findLine(path: KeyPath): number {
    this.#lines ??= new KeyLineIndex(this.#toml);
    return this.#lines.findNearestLine(path);
  }
}

interface LocatedProblem {
  readonly line: number;
  readonly text: string;
}

function sortByLine(located: readonly LocatedProblem[]): string[] {
  return located.toSorted((a, b) => a.line - b.line).map(({ text }) => text);
}

/** Formats a path as in TOML: `models."my model"[1]`. */
export function formatKeyPath(path: KeyPath): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === "number") return `${text}[${part}]`;
    const key = /^[\w-]+$/.test(part) ? part : JSON.stringify(part);
    return text === "" ? key : `${text}.${key}`;
  }, "");
}
