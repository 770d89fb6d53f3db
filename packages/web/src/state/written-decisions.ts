import { readStored, storedNames, tryToStore, type BrowserStorage } from "../browser/storage.ts";
import { cell, type Cell } from "../cell.ts";

/** What somebody writes before deciding. */
export type Writing = "arguments" | "reason" | "replacement" | "outcome";

export interface Written {
  readonly writing: Writing;
  readonly text: string;
}

export interface WrittenDecisions {
  /** By approval. */
  readonly all: Cell<ReadonlyMap<string, Written>>;
  /** Undefined: nobody wants to write it any more. */
  readonly write: (approvalId: string, written: Written | undefined) => void;
  /** Forgets what was written for any other. */
  keepOnly(approvalIds: ReadonlySet<string>): void;
}

const prefix = "deltawire.decision.";

/** What was begun to be written for decisions, kept in the browser. A tab forgets only what it knew of itself. */
export function createWrittenDecisions(storage: BrowserStorage): WrittenDecisions {
  const all = cell<ReadonlyMap<string, Written>>(readKept(storage));
  const write = (approvalId: string, written: Written | undefined) => {
    const others = [...all.get()].filter(([id]) => id !== approvalId);
    all.set(new Map(written === undefined ? others : [...others, [approvalId, written]]));
    if (written === undefined) storage.removeItem(prefix + approvalId);
    else tryToStore(storage, prefix + approvalId, JSON.stringify(written));
  };
  return {
    all,
    write,
    keepOnly(approvalIds) {
      for (const id of all.get().keys()) if (!approvalIds.has(id)) write(id, undefined);
    },
  };
}

function readKept(storage: BrowserStorage): Map<string, Written> {
  return new Map(
    storedNames(storage, prefix).flatMap((name) => {
      const { writing, text } = (readStored(storage, name) ?? {}) as Partial<Written>;
      if (writing === undefined || !writings.has(writing) || typeof text !== "string") return [];
      return [[name.slice(prefix.length), { writing, text }]];
    }),
  );
}

const writings: ReadonlySet<unknown> = new Set<Writing>([
  "arguments",
  "reason",
  "replacement",
  "outcome",
]);
