import { trimSplitSurrogates } from "@deltawire/tasks";
import { revealInvisible } from "../text/reveal-invisible.ts";

/** Returns the arguments of a call, shortened to one line. Arguments that are not a JSON object keep their text. */
export function summarizeArguments(json: string): string {
  const parsed = parseObject(json);
  if (parsed === undefined) return toVisibleLine(json);
  const entries = Object.entries(parsed).filter(([, value]) => value !== null && value !== "");
  const [first] = entries;
  if (entries.length === 1 && first !== undefined) return toVisibleLine(stringifyValue(first[1]));
  return toVisibleLine(
    entries.map(([name, value]) => `${name}: ${stringifyValue(value)}`).join(", "),
  );
}

/** More characters than fit on one line. */
const maxLineLength = 160;

function parseObject(json: string): object | undefined {
  if (json.length > 20_000) return undefined;
  try {
    const parsed: unknown = JSON.parse(json);
    return typeof parsed === "object" && parsed !== null ? parsed : undefined;
  } catch {
    return undefined;
  }
}

function stringifyValue(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

/** Like `toSingleLine`, with invisible characters made visible. */
function toVisibleLine(text: string): string {
  return toSingleLine(revealInvisible(trimSplitSurrogates(text.slice(0, 2 * maxLineLength))));
}

/** Returns the beginning of the text, without line breaks. */
export function toSingleLine(text: string): string {
  const line = text
    .slice(0, 2 * maxLineLength)
    .replaceAll(/\s+/g, " ")
    .trim();
  return line.length > maxLineLength
    ? `${trimSplitSurrogates(line.slice(0, maxLineLength))}…`
    : line;
}
