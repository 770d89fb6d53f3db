export interface TextEdit {
  oldText: string;
  newText: string;
  /** Replaces every occurrence instead of requiring exactly one. */
  replaceAll: boolean;
  /** True if the edit may already have been applied before a crash. */
  isRetry: boolean;
}

export type TextEditResult =
  | { status: "edited"; text: string; count: number; line: number }
  | { status: "already_applied" }
  | { status: "rejected"; reason: string };

/** Replaces part of the text. Returns a reason if the edit cannot be applied. */
export function replaceText(text: string, edit: TextEdit): TextEditResult {
  if (edit.oldText === edit.newText)
    return { status: "rejected", reason: "old_text and new_text are the same" };
  const { oldText, newText } = matchLineEndings(text, edit);
  const pieces = text.split(oldText);
  const count = pieces.length - 1;
  // If the new text contains the old one, a retry would find it again and apply the edit twice.
  if (edit.isRetry && (count === 0 || newText.includes(oldText)) && text.includes(newText))
    return { status: "already_applied" };
  if (count === 0)
    return {
      status: "rejected",
      reason: "old_text does not occur in the file; read that part again",
    };
  if (count > 1 && !edit.replaceAll)
    return {
      status: "rejected",
      reason: `old_text occurs ${count} times in the file; include more of the surrounding text`,
    };
  const line = (pieces[0] ?? "").split("\n").length;
  return { status: "edited", text: pieces.join(newText), count, line };
}

/** Adapts an edit to the line endings of the file: models write `\n`, a file from Windows has `\r\n`. */
function matchLineEndings(text: string, edit: TextEdit): { oldText: string; newText: string } {
  const unchanged = { oldText: edit.oldText, newText: edit.newText };
  if (!text.includes("\r\n") || edit.oldText.includes("\r")) return unchanged;
  if (edit.oldText.includes("\n") && text.includes(edit.oldText)) return unchanged; // mixed line endings
  const convert = (part: string): string => part.replaceAll(/\r?\n/g, "\r\n");
  return { oldText: convert(edit.oldText), newText: convert(edit.newText) };
}
