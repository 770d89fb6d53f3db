import type { KeptStorage } from "../browser/world.ts";
import { cell, type Cell } from "../cell.ts";
import { tryToKeep } from "./kept-drafts.ts";

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
export function createWrittenDecisions(storage: KeptStorage): WrittenDecisions {
  const all = cell<ReadonlyMap<string, Written>>(readKept(storage));
  const write = (approvalId: string, written: Written | undefined) => {
    const others = [...all.get()].filter(([id]) => id !== approvalId);
    all.set(new Map(written === undefined ? others : [...others, [approvalId, written]]));
    if (written === undefined) storage.removeItem(prefix + approvalId);
    else tryToKeep(storage, prefix + approvalId, JSON.stringify(written));
  };
  return {
    all,
    write,
    keepOnly(approvalIds) {
      for (const id of all.get().keys()) if (!approvalIds.has(id)) write(id, undefined);
    },
  };
}

function readKept(storage: KeptStorage): Map<string, Written> {
  const names = Array.from({ length: storage.length }, (_, index) => storage.key(index) ?? "");
  return new Map(
    names.flatMap((name) => {
      const written = name.startsWith(prefix) ? readWritten(storage.getItem(name)) : undefined;
      return written === undefined ? [] : [[name.slice(prefix.length), written]];
    }),
  );
}

const writings: ReadonlySet<unknown> = new Set<Writing>([
  "arguments",
  "reason",
  "replacement",
  "outcome",
]);

function readWritten(kept: string | null): Written | undefined {
  try {
    const { writing, text } = JSON.parse(kept ?? "") as Partial<Written>;
    if (writing === undefined || !writings.has(writing) || typeof text !== "string")
      return undefined;
    return { writing, text };
  } catch {
    return undefined;
  }
}
