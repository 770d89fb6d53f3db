import { argumentsLine } from "./arguments-line.ts";
import type { Source } from "./sources.ts";

/** What a source is called: its title, else what it was found by. */
export function sourceName({ title = "", tool, arguments: json }: Source): string {
  return title.trim() === "" ? `${tool} ${argumentsLine(json)}`.trim() : title;
}
