import { wholeCharacters } from "@deltawire/tasks";
import { revealed } from "../texts/revealed.ts";

/** The arguments of a call in a line; what is no JSON as it stands. */
export function argumentsLine(json: string): string {
  const read = readObject(json);
  if (read === undefined) return revealedLine(json);
  const entries = Object.entries(read).filter(([, value]) => value !== null && value !== "");
  const [first] = entries;
  if (entries.length === 1 && first !== undefined) return revealedLine(textOf(first[1]));
  return revealedLine(entries.map(([name, value]) => `${name}: ${textOf(value)}`).join(", "));
}

/** More than any line has room for. */
const longest = 160;

function readObject(json: string): object | undefined {
  if (json.length > 20_000) return undefined;
  try {
    const read: unknown = JSON.parse(json);
    return typeof read === "object" && read !== null ? read : undefined;
  } catch {
    return undefined;
  }
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

/** Makes invisible characters visible. */
function revealedLine(text: string): string {
  return oneLine(revealed(wholeCharacters(text.slice(0, 2 * longest))));
}

/** The beginning of a text, without its line breaks. */
export function oneLine(text: string): string {
  const line = text
    .slice(0, 2 * longest)
    .replaceAll(/\s+/g, " ")
    .trim();
  return line.length > longest ? `${wholeCharacters(line.slice(0, longest))}…` : line;
}
