import { assertNever } from "../error.ts";
import { normalizeLabel, findUnescaped } from "./link-labels.ts";
import { isBlank } from "./block-starts.ts";
import {
  parseDestination,
  createLinkTarget,
  titleClosings,
  type LinkTarget,
} from "./link-target.ts";

/** The state of parsing `[label]: destination "title"` line by line. */
export type LinkDefinition =
  | { state: "label"; source: string }
  | { state: "destination"; label: string }
  /** Valid without a title; the next line may contain the title. */
  | { state: "untitled"; label: string; destination: string }
  | { state: "title"; label: string; destination: string; title: string; closing: string }
  | { state: "complete"; label: string; destination: string; title: string };

/** Parses the first line of a definition. */
export function startDefinition(line: string): LinkDefinition | undefined {
  return line.startsWith("[") ? readLabel("", line.slice(1)) : undefined;
}

/** Parses the next line. Undefined if it does not belong to the definition. */
export function continueDefinition(
  definition: LinkDefinition,
  line: string,
): LinkDefinition | undefined {
  switch (definition.state) {
    case "label":
      return readLabel(`${definition.source}\n`, line);
    case "destination":
      return isBlank(line) ? undefined : readDestination(definition.label, line);
    case "untitled":
      return startTitle(definition, line.trim());
    case "title":
      return readTitle({ ...definition, title: `${definition.title}\n` }, line);
    case "complete":
      return undefined;
    default:
      return assertNever(definition);
  }
}

/** Returns the target of a valid definition. */
export function toLinkTarget(definition: LinkDefinition & { destination: string }): LinkTarget {
  return createLinkTarget(
    definition.destination,
    "title" in definition ? definition.title : undefined,
  );
}

function readLabel(precedingSource: string, line: string): LinkDefinition | undefined {
  const end = findUnescaped(line, "[]", 0);
  const source = precedingSource + line.slice(0, end);
  if (end === line.length) return { state: "label", source };
  const label = line.startsWith("]:", end) ? normalizeLabel(source) : undefined;
  return label === undefined ? undefined : readDestination(label, line.slice(end + 2));
}

function readDestination(label: string, line: string): LinkDefinition | undefined {
  const text = line.trim();
  if (text === "") return { state: "destination", label };
  const destination = parseDestination(text, 0);
  if (destination === undefined || (destination.source === "" && !text.startsWith("<")))
    return undefined;
  const untitled = { state: "untitled", label, destination: destination.source } as const;
  if (destination.end === text.length) return plainWordPattern.test(text) ? undefined : untitled;
  const rest = text.slice(destination.end);
  return isBlank(rest.charAt(0)) ? startTitle(untitled, rest.trim()) : undefined;
}

/** `[Ann]: Hello` is dialogue: unlike in CommonMark, a single word is not a destination. */
const plainWordPattern = /^[\p{L}\p{N}'’!?,…-]+[.!?,…]*$/u;

type UntitledDefinition = LinkDefinition & { state: "untitled" };

function startTitle(
  { label, destination }: UntitledDefinition,
  text: string,
): LinkDefinition | undefined {
  const closing = titleClosings[text.charAt(0)];
  if (closing === undefined) return undefined;
  return readTitle({ state: "title", label, destination, title: "", closing }, text.slice(1));
}

function readTitle(
  partial: LinkDefinition & { state: "title" },
  line: string,
): LinkDefinition | undefined {
  const { label, destination, closing } = partial;
  const end = findUnescaped(line, closing === ")" ? "()" : closing, 0);
  const title = partial.title + line.slice(0, end);
  if (end === line.length) return { ...partial, title };
  const isClosed = line.charAt(end) === closing && isBlank(line.slice(end + 1));
  return isClosed ? { state: "complete", label, destination, title } : undefined;
}
