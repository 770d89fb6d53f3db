export interface Edit {
  old: string;
  new: string;
  /** Every occurrence, and not the only one. */
  all: boolean;
  /** It may have been made before a crash. */
  again: boolean;
}

export type Edited =
  | { is: "edited"; text: string; count: number; line: number }
  | { is: "done before" }
  | { is: "refused"; why: string };

/** A text with a piece of it replaced, or why not. */
export function replaceOnce(text: string, edit: Edit): Edited {
  if (edit.old === edit.new)
    return { is: "refused", why: "the old text and the new one are the same" };
  const { from, to } = withLineEndsOf(text, edit);
  const pieces = text.split(from);
  const count = pieces.length - 1;
  // An edit that keeps the old text in the new one would find it again and be made twice.
  if (edit.again && (count === 0 || to.includes(from)) && text.includes(to))
    return { is: "done before" };
  if (count === 0)
    return { is: "refused", why: "the old text is not in the file; read the place again" };
  if (count > 1 && !edit.all)
    return {
      is: "refused",
      why: `the old text is in the file ${count} times; give more around it`,
    };
  const line = (pieces[0] ?? "").split("\n").length;
  return { is: "edited", text: pieces.join(to), count, line };
}

/** Models write `\n`; a file from Windows has `\r\n`. */
function withLineEndsOf(text: string, edit: Edit): { from: string; to: string } {
  const asIs = { from: edit.old, to: edit.new };
  if (!text.includes("\r\n") || edit.old.includes("\r")) return asIs;
  if (edit.old.includes("\n") && text.includes(edit.old)) return asIs; // it has both
  const convert = (part: string): string => part.replaceAll(/\r?\n/g, "\r\n");
  return { from: convert(edit.old), to: convert(edit.new) };
}
