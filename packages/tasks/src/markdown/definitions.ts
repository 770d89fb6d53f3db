import { unreachable } from "../error.ts";
import { asWritten } from "./cites.ts";
import { labelOf, unescaped } from "./labels.ts";
import { isBlank } from "./line-forms.ts";
import { addressAt, isLinkable } from "./link-target.ts";

/** `[label]: address "title"` as its lines come. What may not be linked to is not defined, and stays to be read. */
export type Definition =
  | { state: "label"; written: string }
  | { state: "address"; label: string }
  /** It is one already; the next line may be its title. */
  | { state: "untitled"; label: string; url: string }
  | { state: "title"; label: string; url: string; closing: string }
  | { state: "whole"; label: string; url: string };

/** What the first line of a block begins to define. */
export function definitionIn(line: string): Definition | undefined {
  const text = line.trimStart();
  return text.startsWith("[") ? inLabel("", text.slice(1)) : undefined;
}

/** With the next line, if that belongs to it. */
export function definitionWith(before: Definition, line: string): Definition | undefined {
  switch (before.state) {
    case "label":
      return inLabel(`${before.written}\n`, line);
    case "address":
      return fromAddress(before.label, line);
    case "untitled":
      return fromTitle(before, line.trim());
    case "title":
      return inTitle(before, line);
    case "whole":
      return undefined;
    default:
      return unreachable(before);
  }
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
  const { url, end } = addressAt(text, 0) ?? { url: "", end: 0 };
  if (!isLinkable(url)) return undefined;
  const untitled = { state: "untitled", label, url: asWritten(url) } as const;
  if (end === text.length) return untitled;
  return isBlank(text.charAt(end)) ? fromTitle(untitled, text.slice(end).trim()) : undefined;
}

type Untitled = Definition & { state: "untitled" };

function fromTitle({ label, url }: Untitled, text: string): Definition | undefined {
  const closing = closings[text.charAt(0)];
  if (closing === undefined) return undefined;
  return inTitle({ state: "title", label, url, closing }, text.slice(1));
}

const closings: Readonly<Record<string, string>> = { '"': '"', "'": "'", "(": ")" };

function inTitle(title: Definition & { state: "title" }, line: string): Definition | undefined {
  const { label, url, closing } = title;
  const end = unescaped(line, closing === ")" ? "()" : closing, 0);
  if (end === line.length) return title;
  const ends = line.charAt(end) === closing && isBlank(line.slice(end + 1));
  return ends ? { state: "whole", label, url } : undefined;
}
