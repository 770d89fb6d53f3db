import type { JsonObject } from "@deltawire/tasks";
import type { ModelOptions } from "@deltawire/tasks/chats";
import { effortIn, withEffort } from "./reasoning-effort.ts";

/** Options as they are written: three in fields of their own, the others as JSON. */
export interface OptionTexts {
  readonly effort: string;
  readonly temperature: string;
  readonly maxTokens: string;
  readonly otherOptions: string;
}

export function splitOptions(options: ModelOptions = {}): OptionTexts {
  const effort = effortIn(options);
  const rest: ModelOptions = { ...withEffort(options, undefined) };
  // What is no number, null above all, has a meaning that only JSON can show.
  const taken = (name: string) => {
    const value = rest[name];
    if (typeof value !== "number") return "";
    delete rest[name];
    return String(value);
  };
  const temperature = taken("temperature");
  const maxTokens = taken("max_output_tokens");
  const isEmpty = Object.keys(rest).length === 0;
  return {
    effort: effort ?? "",
    temperature,
    maxTokens,
    otherOptions: isEmpty ? "" : JSON.stringify(rest, undefined, 2),
  };
}

type OptionProblem = "no json" | "no object" | "said twice";

/** Undefined where nothing is said. */
export function joinOptions(
  { effort, temperature, maxTokens, otherOptions }: OptionTexts,
  number: (text: string, field: string) => number | undefined,
  problem: (field: string, is: OptionProblem) => void,
): ModelOptions | undefined {
  const others = readObject(otherOptions);
  if (typeof others === "string") problem("options", others);
  const rest = typeof others === "string" ? {} : others;
  const own = {
    temperature: number(temperature, "options.temperature"),
    max_output_tokens: number(maxTokens, "options.max_output_tokens"),
  };
  const said = Object.entries(own).filter(([, value]) => value !== undefined);
  if (said.some(([name]) => name in rest) || (effort !== "" && effortIn(rest) !== undefined))
    problem("options", "said twice");
  const joined = { ...rest, ...Object.fromEntries(said) };
  const all = effort === "" ? joined : (withEffort(joined, effort) ?? {});
  return Object.keys(all).length === 0 ? undefined : all;
}

function readObject(text: string): JsonObject | "no json" | "no object" {
  if (text.trim() === "") return {};
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as JsonObject)
      : "no object";
  } catch {
    return "no json";
  }
}
