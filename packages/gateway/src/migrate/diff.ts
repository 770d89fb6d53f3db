import { redactToml } from "./redact-toml.ts";

/** One line of a diff, including its sign. */
export interface DiffLine {
  readonly kind: "file" | "hunk" | "same" | "removed" | "added" | "remark";
  readonly text: string;
}

export interface FileChange {
  readonly file: string;
  /** Undefined for a new file. */
  readonly before: string | undefined;
  readonly after: string;
}

/**
 * Returns a unified diff of two documents with secrets replaced by "…". Empty if they are equal. `redact` replaces the secrets and
 * preserves the lines; by default those of TOML.
 */
export function createUnifiedDiff(
  { file, before, after }: FileChange,
  redact: (text: string) => string = redactToml,
): DiffLine[] {
  const changes = diffLines(splitLines(before ?? "", redact), splitLines(after, redact));
  const hunks = groupHunks(changes);
  if (hunks.length === 0) return [];
  return [
    { kind: "file", text: `--- ${before === undefined ? "/dev/null" : file}` },
    { kind: "file", text: `+++ ${file}` },
    ...hunks.flatMap((hunk) => [
      formatHunkHeader(changes, hunk),
      ...formatHunkLines(changes, hunk),
    ]),
  ];
}

/** Returns the lines as text, each with a line ending. */
export function formatDiff(lines: readonly DiffLine[]): string {
  return lines.map(({ text }) => `${text}\n`).join("");
}

interface SourceLine {
  /** Includes the line ending, so that a changed line ending is a change. */
  readonly raw: string;
  readonly redacted: string;
}

interface LineChange {
  readonly kind: "same" | "removed" | "added";
  readonly line: SourceLine;
}

function splitLines(text: string, redact: (text: string) => string): SourceLine[] {
  const redactedLines = redact(text).split("\n");
  return text
    .split(/(?<=\n)/)
    .filter((raw) => raw !== "")
    .map((raw, index) => ({ raw, redacted: (redactedLines[index] ?? "").replace(/\r$/, "") }));
}

/** Compares the lines by their longest common subsequence, after skipping the common prefix and suffix. */
function diffLines(before: readonly SourceLine[], after: readonly SourceLine[]): LineChange[] {
  let start = 0;
  while (start < before.length && before[start]?.raw === after[start]?.raw) start += 1;
  let end = 0;
  const shorter = Math.min(before.length, after.length);
  while (end < shorter - start && before.at(-1 - end)?.raw === after.at(-1 - end)?.raw) end += 1;
  const [a, b] = [before.slice(start, before.length - end), after.slice(start, after.length - end)];
  const common = computeCommonLengths(a, b);
  const changes: LineChange[] = before.slice(0, start).map((line) => ({ kind: "same", line }));
  let [row, column] = [0, 0];
  for (;;) {
    const [older, newer] = [a[row], b[column]];
    if (older !== undefined && older.raw === newer?.raw) {
      changes.push({ kind: "same", line: older });
      row += 1;
      column += 1;
    } else if (
      older !== undefined &&
      getLength(common, row + 1, column) >= getLength(common, row, column + 1)
    ) {
      changes.push({ kind: "removed", line: older });
      row += 1;
    } else if (newer !== undefined) {
      changes.push({ kind: "added", line: newer });
      column += 1;
    } else break;
  }
  for (const line of before.slice(before.length - end)) changes.push({ kind: "same", line });
  return changes;
}

/** Returns the length of the longest common subsequence for each pair of suffixes of the two lists. */
function computeCommonLengths(a: readonly SourceLine[], b: readonly SourceLine[]): number[][] {
  const lengths = Array.from({ length: a.length + 1 }, () =>
    Array.from({ length: b.length + 1 }, () => 0),
  );
  for (let row = a.length - 1; row >= 0; row -= 1)
    for (let column = b.length - 1; column >= 0; column -= 1) {
      const isSame = a[row]?.raw === b[column]?.raw;
      const length = isSame
        ? getLength(lengths, row + 1, column + 1) + 1
        : Math.max(getLength(lengths, row + 1, column), getLength(lengths, row, column + 1));
      lengths[row]?.splice(column, 1, length);
    }
  return lengths;
}

function getLength(lengths: readonly (readonly number[])[], row: number, column: number): number {
  return lengths[row]?.[column] ?? -1;
}

/** The changes from index `start` up to, but not including, `end`. */
interface Hunk {
  start: number;
  end: number;
}

function groupHunks(changes: readonly LineChange[]): Hunk[] {
  const hunks: Hunk[] = [];
  changes.forEach(({ kind }, index) => {
    if (kind === "same") return;
    const lastHunk = hunks.at(-1);
    const start = Math.max(0, index - contextLines);
    const end = Math.min(changes.length, index + contextLines + 1);
    if (lastHunk !== undefined && start <= lastHunk.end) lastHunk.end = end;
    else hunks.push({ start, end });
  });
  return hunks;
}

/** Lines of context on each side of a change. */
const contextLines = 3;

function formatHunkHeader(changes: readonly LineChange[], { start, end }: Hunk): DiffLine {
  const formatRange = (excludedKind: LineChange["kind"]) => {
    const countLines = (lines: readonly LineChange[]) =>
      lines.filter(({ kind }) => kind !== excludedKind).length;
    const precedingLines = countLines(changes.slice(0, start));
    const length = countLines(changes.slice(start, end));
    const firstLine = length === 0 ? precedingLines : precedingLines + 1;
    return `${firstLine}${length === 1 ? "" : `,${length}`}`;
  };
  return { kind: "hunk", text: `@@ -${formatRange("added")} +${formatRange("removed")} @@` };
}

function formatHunkLines(changes: readonly LineChange[], { start, end }: Hunk): DiffLine[] {
  return changes.slice(start, end).flatMap(({ kind, line }): DiffLine[] => {
    const text = `${signs[kind]}${line.redacted}`;
    return line.raw.endsWith("\n")
      ? [{ kind, text }]
      : [
          { kind, text },
          { kind: "remark", text: "\\ No newline at end of file" },
        ];
  });
}

const signs = { same: " ", removed: "-", added: "+" } as const;
