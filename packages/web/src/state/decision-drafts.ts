import {
  readStoredJson,
  listStorageKeys,
  trySetItem,
  type BrowserStorage,
} from "../browser/storage.ts";
import { createCell, type Cell } from "../cell.ts";

/** A text field of the decision form. */
export type DecisionField = "arguments" | "reason" | "replacement" | "outcome";

export interface DecisionDraft {
  readonly writing: DecisionField;
  readonly text: string;
}

export interface DecisionDrafts {
  /** Drafts by approval id. */
  readonly all: Cell<ReadonlyMap<string, DecisionDraft>>;
  /** Undefined discards the draft. */
  readonly set: (approvalId: string, draft: DecisionDraft | undefined) => void;
  /** Discards the drafts of all other approvals. */
  retain(approvalIds: ReadonlySet<string>): void;
}

const keyPrefix = "deltawire.decision.";

/** Stores drafts of decisions in the browser. Drafts that another tab has stored since this one was opened are not discarded. */
export function createDecisionDrafts(storage: BrowserStorage): DecisionDrafts {
  const drafts = createCell<ReadonlyMap<string, DecisionDraft>>(readSavedDrafts(storage));
  const write = (approvalId: string, draft: DecisionDraft | undefined) => {
    const others = [...drafts.get()].filter(([id]) => id !== approvalId);
    drafts.set(new Map(draft === undefined ? others : [...others, [approvalId, draft]]));
    if (draft === undefined) storage.removeItem(keyPrefix + approvalId);
    else trySetItem(storage, keyPrefix + approvalId, JSON.stringify(draft));
  };
  return {
    all: drafts,
    set: write,
    retain(approvalIds) {
      for (const id of drafts.get().keys()) if (!approvalIds.has(id)) write(id, undefined);
    },
  };
}

function readSavedDrafts(storage: BrowserStorage): Map<string, DecisionDraft> {
  return new Map(
    listStorageKeys(storage, keyPrefix).flatMap((name) => {
      const { writing, text } = (readStoredJson(storage, name) ?? {}) as Partial<DecisionDraft>;
      if (writing === undefined || !decisionFields.has(writing) || typeof text !== "string")
        return [];
      return [[name.slice(keyPrefix.length), { writing, text }]];
    }),
  );
}

const decisionFields: ReadonlySet<unknown> = new Set<DecisionField>([
  "arguments",
  "reason",
  "replacement",
  "outcome",
]);
