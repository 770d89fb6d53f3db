import { unreachable } from "../error.ts";
import { labelOf, unescaped } from "./labels.ts";
import { isBlank } from "./line-forms.ts";
import { destinationAt, targetOf, titleEnds, type Target } from "./link-target.ts";

/** `[label]: destination "title"` as its lines come. */
export type Definition =
  | { state: "label"; written: string }
  | { state: "address"; label: string }
  /** It is one already; the next line may be its title. */
  | { state: "untitled"; label: string; destination: string }
  | { state: "title"; label: string; destination: string; title: string; closing: string }
  | { state: "whole"; label: string; destination: string; title: string };

/** What the first line of a block begins to define. */
export function definitionIn(line: string): Definition | undefined {
  return line.startsWith("[") ? inLabel("", line.slice(1)) : undefined;
}

/** With the next line, if that belongs to it. */
export function definitionWith(before: Definition, line: string): Definition | undefined {
  switch (before.state) {
    case "label":
      return inLabel(`${before.written}\n`, line);
    case "address":
      return isBlank(line) ? undefined : fromAddress(before.label, line);
    case "untitled":
      return fromTitle(before, line.trim());
    case "title":
      return inTitle({ ...before, title: `${before.title}\n` }, line);
    case "whole":
      return undefined;
    default:
      return unreachable(before);
  }
}

/** What a definition that is one stands for. */
export function definedTarget(definition: Definition & { destination: string }): Target {
  return targetOf(definition.destination, "title" in definition ? definition.title : undefined);
}

function inLabel(before: string, line: string): Definition | undefined {
  const end = unescaped(line, "[]", 0);
  const written = before + line.slice(0, end);
  if (end === line.length) return { state: "label", written };
  const label = line.startsWith("]:", end) ? labelOf(written) : undefined;
  return label === undefined ? undefined : fromAddress(label, line.slice(end + 2));
}

function fromAddress(label: string, line: string): Definition | undefined {
  const text = line.trim();
  if (text === "") return { state: "address", label };
  const found = destinationAt(text, 0);
  if (found === undefined || (found.written === "" && !text.startsWith("<"))) return undefined;
  const untitled = { state: "untitled", label, destination: found.written } as const;
  if (found.end === text.length) return plainWord.test(text) ? undefined : untitled;
  const rest = text.slice(found.end);
  return isBlank(rest.charAt(0)) ? fromTitle(untitled, rest.trim()) : undefined;
}

/** `[Ann]: Hello` is what somebody says: unlike in CommonMark, a word alone is no destination. */
const plainWord = /^[\p{L}\p{N}'’!?,…-]+[.!?,…]*$/u;

type Untitled = Definition & { state: "untitled" };

function fromTitle({ label, destination }: Untitled, text: string): Definition | undefined {
  const closing = titleEnds[text.charAt(0)];
  if (closing === undefined) return undefined;
  return inTitle({ state: "title", label, destination, title: "", closing }, text.slice(1));
}

function inTitle(begun: Definition & { state: "title" }, line: string): Definition | undefined {
  const { label, destination, closing } = begun;
  const end = unescaped(line, closing === ")" ? "()" : closing, 0);
  const title = begun.title + line.slice(0, end);
  if (end === line.length) return { ...begun, title };
  const ends = line.charAt(end) === closing && isBlank(line.slice(end + 1));
  return ends ? { state: "whole", label, destination, title } : undefined;
}
