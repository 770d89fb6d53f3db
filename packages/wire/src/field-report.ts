import type { JsonObject } from "./json.ts";

/** What happens to a field of a client's request. Fields that cannot be translated are refused with a `WireError`. */
export interface FieldOutcome {
  /** The path of the field; `[]` stands for every element. */
  path: string;
  outcome: "preserved" | "translated" | "dropped";
  /** The upstream's field, or why the field was dropped. */
  detail: string;
}

/** Why a field is dropped whose target the upstream does not take. */
export const notSupported = "not supported by the upstream";

/** Collects the outcome of each field, so that nothing is lost without a trace. */
export class FieldReport {
  readonly #outcomes = new Map<string, FieldOutcome>();

  preserve(path: string): void {
    this.#add({ path, outcome: "preserved", detail: path });
  }

  translate(path: string, target: string): void {
    this.#add({ path, outcome: "translated", detail: target });
  }

  drop(path: string, reason: string): void {
    this.#add({ path, outcome: "dropped", detail: reason });
  }

  /** True if the outcome of the field, or of a part of it, is known. */
  has(path: string): boolean {
    return this.#outcomes.has(path);
  }

  /** True if the field is preserved or translated. */
  isSent(path: string): boolean {
    const outcome = this.#outcomes.get(path)?.outcome;
    return outcome === "preserved" || outcome === "translated";
  }

  /** Replaces the upstream's fields of a path. Without any, the field was dropped because of the upstream. */
  correct(path: string, targets: readonly string[]): void {
    if (targets.length === 0) this.drop(path, notSupported);
    else if (this.#outcomes.get(path)?.outcome === "translated")
      this.#outcomes.set(path, { path, outcome: "translated", detail: targets.join(", ") });
  }

  /** One outcome per path, in the order in which the fields were read. A loss replaces other outcomes. */
  get outcomes(): FieldOutcome[] {
    return [...this.#outcomes.values()];
  }

  #add(outcome: FieldOutcome): void {
    const known = this.#outcomes.get(outcome.path);
    if (known === undefined || outcome.outcome === "dropped")
      this.#outcomes.set(outcome.path, outcome);
  }
}

/** Where the fields of a request are in the request to the upstream. */
export interface FieldTargets {
  /** The upstream's fields for each field that has another name there: names, or paths such as `reasoning.effort`. */
  targets: Readonly<Record<string, string | readonly string[]>>;
  /** Why a field without a target is dropped. */
  reasons: Readonly<Record<string, string>>;
  /** The reason for all other fields. */
  defaultReason: string;
}

/**
 * Adds the outcome of each field whose outcome is not known: a field is preserved if the upstream's request has the same value
 * under the same name, translated if it has one under its target, else dropped.
 */
export function reportFields(
  request: JsonObject,
  body: JsonObject,
  report: FieldReport,
  { targets, reasons, defaultReason }: FieldTargets,
): void {
  for (const [name, value] of Object.entries(request)) {
    if (value === undefined || value === null || report.has(name)) continue;
    const known = Object.hasOwn(targets, name) ? targets[name] : undefined;
    const target = [known ?? name].flat().find((path) => hasPath(body, path));
    const isChanged = typeof value !== "object" && value !== body[name];
    if (target === name && !isChanged) report.preserve(name);
    else if (target !== undefined) report.translate(name, target);
    else report.drop(name, (Object.hasOwn(reasons, name) && reasons[name]) || defaultReason);
  }
}

/** Corrects outcomes after the upstream's flags were applied: each target is renamed, or the field is dropped. */
export function correctOutcomes(
  body: JsonObject,
  report: FieldReport,
  targets: Readonly<Record<string, readonly string[]>>,
): void {
  for (const [path, candidates] of Object.entries(targets)) {
    if (!report.isSent(path)) continue;
    const sent = candidates.filter((candidate) => hasPath(body, candidate));
    report.correct(path, sent);
  }
}

function hasPath(body: JsonObject, path: string): boolean {
  let value: unknown = body;
  for (const name of path.split("."))
    value =
      typeof value === "object" && value !== null && Object.hasOwn(value, name)
        ? (value as JsonObject)[name]
        : undefined;
  return value !== undefined;
}
