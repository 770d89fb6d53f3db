export interface Paste {
  readonly types: readonly string[];
  readonly files: number;
  readonly text: string;
}

/** From here on a pasted text reads better as a file beside the words. */
const long = 5000;

/** Office programs and browsers put a picture of the text beside it: then the text is meant. */
export function meaningOfPaste({ types, files, text }: Paste): "files" | "long text" | "text" {
  const isRich = types.includes("text/rtf") || (types.includes("text/html") && text !== "");
  if (files > 0 && !isRich) return "files";
  return text.length >= long ? "long text" : "text";
}

/** The words without what was pasted; undefined where it no longer stands there as it came. */
export function withoutPasted(words: string, pasted: string): string | undefined {
  const text = inTextArea(pasted);
  const at = words.lastIndexOf(text);
  return at === -1 ? undefined : words.slice(0, at) + words.slice(at + text.length);
}

/** Where lines end in one character. */
function inTextArea(text: string): string {
  return text.replaceAll(/\r\n?/g, "\n");
}
