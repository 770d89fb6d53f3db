import { redactedToml } from "./redact.ts";

/** One line of a diff: its sign and the text behind it. */
export interface DiffLine {
  readonly kind: "file" | "place" | "same" | "removed" | "added" | "remark";
  readonly text: string;
}

export interface DiffedFile {
  readonly file: string;
  /** Undefined for a file that is new. */
  readonly before: string | undefined;
  readonly after: string;
}

/** A unified diff of two TOML documents, in which "…" stands for every secret. No lines if they are the same. */
export function unifiedDiff({ file, before, after }: DiffedFile): DiffLine[] {
  const changes = changesOf(linesOf(before ?? ""), linesOf(after));
  const hunks = hunksOf(changes);
  if (hunks.length === 0) return [];
  return [
    { kind: "file", text: `--- ${before === undefined ? "/dev/null" : file}` },
    { kind: "file", text: `+++ ${file}` },
    ...hunks.flatMap(({ from, to }) => [place(changes, from, to), ...shown(changes, from, to)]),
  ];
}

/** As plain text, with a line end behind every line. */
export function diffText(lines: readonly DiffLine[]): string {
  return lines.map(({ text }) => `${text}\n`).join("");
}

interface Line {
  /** With its line end, so that a change of that is one. */
  readonly raw: string;
  readonly shown: string;
}

interface Change {
  readonly kind: "same" | "removed" | "added";
  readonly line: Line;
}

function linesOf(text: string): Line[] {
  const shown = redactedToml(text).split("\n");
  return text
    .split(/(?<=\n)/)
    .filter((raw) => raw !== "")
    .map((raw, index) => ({ raw, shown: (shown[index] ?? "").replace(/\r$/, "") }));
}

/** By the longest common subsequence of what is between the lines that begin and end both. */
function changesOf(before: readonly Line[], after: readonly Line[]): Change[] {
  let start = 0;
  while (start < before.length && before[start]?.raw === after[start]?.raw) start += 1;
  let end = 0;
  const shorter = Math.min(before.length, after.length);
  while (end < shorter - start && before.at(-1 - end)?.raw === after.at(-1 - end)?.raw) end += 1;
  const [a, b] = [before.slice(start, before.length - end), after.slice(start, after.length - end)];
  const common = commonLengths(a, b);
  const changes: Change[] = before.slice(0, start).map((line) => ({ kind: "same", line }));
  let [row, column] = [0, 0];
  for (;;) {
    const [old, young] = [a[row], b[column]];
    if (old !== undefined && old.raw === young?.raw) {
      changes.push({ kind: "same", line: old });
      row += 1;
      column += 1;
    } else if (old !== undefined && at(common, row + 1, column) >= at(common, row, column + 1)) {
      changes.push({ kind: "removed", line: old });
      row += 1;
    } else if (young !== undefined) {
      changes.push({ kind: "added", line: young });
      column += 1;
    } else break;
  }
  for (const line of before.slice(before.length - end)) changes.push({ kind: "same", line });
  return changes;
}

/** How many lines two ends of the lists have in common; -1 beyond the end of one. */
function commonLengths(a: readonly Line[], b: readonly Line[]): number[][] {
  const lengths = Array.from({ length: a.length + 1 }, () =>
    Array.from({ length: b.length + 1 }, () => 0),
  );
  for (let row = a.length - 1; row >= 0; row -= 1)
    for (let column = b.length - 1; column >= 0; column -= 1) {
      const isSame = a[row]?.raw === b[column]?.raw;
      const length = isSame
        ? at(lengths, row + 1, column + 1) + 1
        : Math.max(at(lengths, row + 1, column), at(lengths, row, column + 1));
      lengths[row]?.splice(column, 1, length);
    }
  return lengths;
}

function at(lengths: readonly (readonly number[])[], row: number, column: number): number {
  return lengths[row]?.[column] ?? -1;
}

interface Hunk {
  from: number;
  to: number;
}

function hunksOf(changes: readonly Change[]): Hunk[] {
  const hunks: Hunk[] = [];
  changes.forEach(({ kind }, index) => {
    if (kind === "same") return;
    const last = hunks.at(-1);
    const [from, to] = [Math.max(0, index - around), Math.min(changes.length, index + around + 1)];
    if (last !== undefined && from <= last.to) last.to = to;
    else hunks.push({ from, to });
  });
  return hunks;
}

/** Lines of context on each side of a change. */
const around = 3;

function place(changes: readonly Change[], from: number, to: number): DiffLine {
  const range = (without: Change["kind"]) => {
    const count = (some: readonly Change[]) => some.filter(({ kind }) => kind !== without).length;
    const [before, length] = [count(changes.slice(0, from)), count(changes.slice(from, to))];
    return `${length === 0 ? before : before + 1}${length === 1 ? "" : `,${length}`}`;
  };
  return { kind: "place", text: `@@ -${range("added")} +${range("removed")} @@` };
}

function shown(changes: readonly Change[], from: number, to: number): DiffLine[] {
  return changes.slice(from, to).flatMap(({ kind, line }): DiffLine[] => {
    const text = `${signs[kind]}${line.shown}`;
    return line.raw.endsWith("\n")
      ? [{ kind, text }]
      : [
          { kind, text },
          { kind: "remark", text: "\\ No newline at end of file" },
        ];
  });
}

const signs = { same: " ", removed: "-", added: "+" } as const;
